#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/graph.h"
#include "mangrove/infer/messages.pb.h"

namespace mangrove::infer {

/// Frames that a client pushed, as samples of a data set on the node of the first stage. An image is decoded when it is
/// read, scaled until its shorter side fits, and cropped to its middle. Values are taken as they are.
/// threads: any thread may call any method.
class FrameSamples final : public data::Dataset {
 public:
  enum class Kind { images, values };
  /// The names of the network's classes come from its metadata; without these they are numbers.
  /// errors: those of learn::check_classifier(); invalid_argument (images, and its input is none).
  static Result<std::shared_ptr<FrameSamples>> create(const Graph& graph, Kind kind);

  /// Adds frames. Returns the numbers of their samples.
  template <class Files>
  std::vector<std::uint32_t> add(const Files& files) {
    MutexLock lock(mutex_);
    std::vector<std::uint32_t> numbers;
    for (const std::string& file : files) {
      numbers.push_back(next_);
      frames_[next_] = {std::make_shared<const std::string>(file), {}};
      next_ = next_ + 1 < size() ? next_ + 1 : 0;
    }
    return numbers;
  }
  /// Forgets samples that were read. Returns those that could not be; zeros were read in their place.
  std::vector<Unreadable> remove(const std::vector<std::uint32_t>& numbers);

  // For a number that was not added: reads a sample that takes as long as a frame of the network's own size.
  Status read(std::uint32_t index, std::span<float> out) const override;
  std::uint32_t size() const override { return 0xffff'ffff; }
  Shape sample_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return classes_; }
  std::int32_t label(std::uint32_t) const override { return 0; }

 private:
  struct Frame {
    std::shared_ptr<const std::string> file;
    std::string problem;  // why it could not be read
  };
  FrameSamples(Kind kind, Shape shape, std::vector<std::string> classes);
  Status decode(const std::string& file, std::span<float> out) const;

  const Kind kind_;
  const Shape shape_;  // of a sample; of an image [C, H, W]
  const std::vector<std::string> classes_;
  const std::shared_ptr<const std::string> example_;
  mutable Mutex mutex_;
  mutable std::map<std::uint32_t, Frame> frames_ MG_GUARDED_BY(mutex_);
  std::uint32_t next_ MG_GUARDED_BY(mutex_) = 0;
};

/// The names of a classifier's classes: those in its metadata if there is one for each output, else numbers.
std::vector<std::string> class_names_of(const Graph& graph);

}  // namespace mangrove::infer
