#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"

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
  /// Writes samples [first, first + n) into the inputs of an execution whose batch is n or more; what is beyond them
  /// stays as it was. A sample that cannot be read leaves its error, at its place among the n; others end the run.
  virtual Result<std::vector<Status>> fill(Execution& execution, std::int64_t first, std::int64_t n) const = 0;
};

/// Channels are (pixel / 255 - mean) / deviation; one number for all channels, or one for each.
struct Normalization {
  std::vector<float> mean{0};
  std::vector<float> deviation{1};
};
/// "0.485,0.456,0.406" as numbers. errors: invalid_argument.
Result<std::vector<float>> parse_numbers(const std::string& text);

/// Arrays from npy files, one for each input of the graph: "x.npy" for its only input, else "name=x.npy". An array has
/// the input's shape with any number of samples, or leaves out the batch; f64 becomes f32, i32 becomes i64.
/// errors: those of read_file and parse_npy; invalid_argument: not one array for each input, a shape or type that does
/// not fit, arrays with different numbers of samples.
Result<std::unique_ptr<SampleSource>> open_arrays(const Graph& graph, const std::vector<std::string>& inputs);

/// Image files, or the images of a folder in the order of their names, for a graph with one input [N, C, H, W] f32 of 1
/// or 3 channels. Each is resized so that it covers H x W, and cropped in the middle.
/// errors: invalid_argument: the graph has no such input, the normalization another number of channels; not_found.
Result<std::unique_ptr<SampleSource>> open_images(const Graph& graph, const std::vector<std::string>& paths,
                                                  const Normalization& normalization);

}  // namespace mangrove::cli
