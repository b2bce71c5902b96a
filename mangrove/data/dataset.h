#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::data {

enum class Split { train, test };

/// Labelled samples that can be read in any order. Immutable.
/// threads: any thread may call any method.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint32_t size() const = 0;
  /// Of one sample: [C, H, W].
  virtual Shape sample_shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  std::int32_t classes() const { return static_cast<std::int32_t>(class_names().size()); }

  /// 0 <= index < size().
  virtual std::int32_t label(std::uint32_t index) const = 0;
  /// Writes the sample, in [0, 1], to `out` (sample_shape().elements() floats).
  /// errors: data_loss (a sample that cannot be decoded; names file and index).
  virtual Status read(std::uint32_t index, std::span<float> out) const = 0;
};

/// Where data sets are looked for: `given` (a --data-dir) if not empty, else $MANGROVE_DATA, else
/// ~/.cache/mangrove/data.
fs::path data_folder(const std::string& given);

/// Names that open_dataset knows: "glyphs", "mnist".
std::span<const std::string> dataset_names();
/// One line for a person. errors: not_found (unknown name, with the nearest known one).
Result<std::string> dataset_summary(std::string_view name);
/// Whether open_dataset would find the files of both splits (it does not look into them).
/// errors: not_found (unknown name, with the nearest known one).
Result<bool> is_present(std::string_view name, const fs::path& folder);

/// Opens a data set in a folder made by data_folder().
/// errors: not_found (unknown name, with the nearest known one; or files missing: names them and says how to get them),
/// data_loss (corrupt or truncated file; names it, what was found and what was expected).
Result<std::shared_ptr<const Dataset>> open_dataset(std::string_view name, Split split, const fs::path& folder);

}  // namespace mangrove::data
