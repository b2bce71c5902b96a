#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/data/data_folder.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::data {

enum class Split { train, validation, test };

/// Classes of classes.
struct CoarseLabels {
  std::vector<std::string> names;
  std::vector<std::int32_t> of_class;  // which of the names each class belongs to
};

/// Labelled samples that can be read in any order. Immutable.
/// threads: any thread may call any method.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint32_t size() const = 0;
  /// Of one sample: [C, H, W] of an image, [C, L] of a window of sensor channels.
  virtual Shape sample_shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  std::int32_t classes() const { return static_cast<std::int32_t>(class_names().size()); }
  /// The hierarchy above the classes; null where there is none.
  virtual const CoarseLabels* coarse() const { return nullptr; }
  /// What figures made with these very samples have to be called, e.g. "CIFAR-10 (JPEG q75)"; "" where the name of the
  /// data set says it all.
  virtual std::string title() const { return {}; }

  /// Where runs of samples end that lie one behind the other in one file, so that reading a run in its order is
  /// fastest: ascending, the last is size(). Empty: no order is known to be faster than another.
  virtual std::vector<std::uint32_t> run_ends() const { return {}; }
  /// Path of the file of many samples that it lies in, one of those whose ends run_ends() tells; "": there are no such.
  virtual std::string file(std::uint32_t) const { return {}; }
  /// Whether read() decodes what it reads, so that a decoded sample is worth its memory.
  virtual bool decodes() const { return false; }

  /// What messages call a sample: its file, where it has one of its own.
  virtual std::string name(std::uint32_t index) const { return "sample " + std::to_string(index); }

  /// 0 <= index < size().
  virtual std::int32_t label(std::uint32_t index) const = 0;
  /// Writes the sample to `out` (sample_shape().elements() floats): images in [0, 1], sensors in their own units.
  /// errors: data_loss (a sample that cannot be decoded; names file and index).
  virtual Status read(std::uint32_t index, std::span<float> out) const = 0;
};

/// Where data sets are looked for: `given` (a --data-dir) if not empty, else $MANGROVE_DATA, else
/// ~/.cache/mangrove/data.
fs::path data_folder(const std::string& given);

/// What the program knows about a data set, or about a kind of files.
struct DatasetInfo {
  std::string_view name;
  std::string_view usage;    // "csv:FILE[,window=128]..."
  std::string_view summary;  // one line for a person
  bool is_kind;              // NAME:PATH of the user's own files
};
std::span<const DatasetInfo> known_datasets();
/// The names of those that are not kinds: "cifar10", "glyphs", "mnist", ...
std::span<const std::string> dataset_names();
/// One line for a person. errors: not_found (unknown name, with the nearest known one).
Result<std::string> dataset_summary(std::string_view spec);
/// Whether open_dataset would find the files (it does not look into them).
/// errors: not_found (unknown name, with the nearest known one), invalid_argument (not a spec).
Result<bool> is_present(std::string_view spec, const fs::path& folder);

/// Opens one split of a data set in a folder made by data_folder(). `spec` as in spec.h; options that all data sets
/// take:
///   validation=N, test=N  where there is no such split: carved from the training samples, a share if below 1, else
///                         a number of samples; the same share of each class (of a CSV: of each recording's time)
///   split-seed=N          which samples are carved; 1
///   labels=fine|coarse    the classes themselves, or those above them (Dataset::coarse); before classes
///   classes=NAME;NAME     labels are these classes and, behind them, "rest" for all others; before balance
///   balance=yes|N         training: samples of smaller classes are repeated until all are as large as the largest, or
///                         have N; of larger ones only N are used
/// errors: not_found (unknown name, with the nearest known one; no such split; or files missing: names them and says
/// how to get them), those of DataFolder::find, invalid_argument (not a spec, unknown option), data_loss (corrupt or
/// truncated file; names it, what was found and what was expected).
Result<std::shared_ptr<const Dataset>> open_dataset(std::string_view spec, Split split, const DataFolder& folder);

}  // namespace mangrove::data
