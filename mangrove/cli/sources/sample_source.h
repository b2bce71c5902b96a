#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"
#include "mangrove/learn/image_input.h"

namespace mangrove::cli {

/// Where the inputs of a model come from, sample by sample.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t count() const = 0;
  /// "cat.jpg", "x.npy[3]"
  virtual std::string name(std::int64_t sample) const = 0;
  /// Whether samples are images, so that the model is a classifier of images.
  virtual bool has_images() const = 0;
  /// Writes these samples into the inputs of an execution whose batch is as large or larger; what is beyond them stays
  /// as it was. A sample that cannot be read is zeros, and leaves its error at its place among them; other errors end
  /// the run.
  virtual Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const = 0;
  /// The class of a sample, where it is known.
  virtual std::optional<std::int32_t> label(std::int64_t) const { return std::nullopt; }
};

/// What images need for a model: what was typed after --mean and --std, else how its samples were prepared in training,
/// else the numbers in its metadata, else nothing. data_dir: a --data-dir, for a model trained with zca.
/// errors: those of learn::preparation_of; invalid_argument (no numbers; only one of both, in place of the model's
/// own).
Result<learn::ImagePreparation> preparation_for(const Graph& graph, const std::string& mean,
                                                const std::string& deviation, const std::string& data_dir);

/// Arrays from npy files, one for each input of the graph: "x.npy" for its only input, else "name=x.npy". An array has
/// the input's shape with any number of samples, or leaves out the batch; f64 becomes f32, i32 becomes i64.
/// errors: those of read_file and parse_npy; invalid_argument: not one array for each input, a shape or type that does
/// not fit, arrays with different numbers of samples.
Result<std::unique_ptr<SampleSource>> open_arrays(const Graph& graph, const std::vector<std::string>& inputs);

/// The image files of a folder in the order of their names. errors: permission_denied, not_found (there are none).
Result<std::vector<fs::path>> images_of(const fs::path& folder);

/// Image files, or the images of a folder in the order of their names, for a graph with one input [N, C, H, W] f32 of 1
/// or 3 channels. Each is resized so that it covers H x W, and cropped in the middle.
/// errors: invalid_argument: the graph has no such input, the preparation another number of channels; not_found.
Result<std::unique_ptr<SampleSource>> open_images(const Graph& graph, const std::vector<std::string>& paths,
                                                  const learn::ImagePreparation& preparation);

/// The samples of a data set, prepared by an augmentation where there is one.
/// errors: those of learn::check_classifier and learn::check_fits.
Result<std::unique_ptr<SampleSource>> open_dataset_samples(const Graph& graph,
                                                           std::shared_ptr<const data::Dataset> dataset,
                                                           std::shared_ptr<const data::Augmentation> augmentation);

/// Some samples of another source, in this order.
std::unique_ptr<SampleSource> pick_samples(std::shared_ptr<const SampleSource> source,
                                           std::vector<std::int64_t> samples);

}  // namespace mangrove::cli
