#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/views.h"
#include "mangrove/infer/infer.pb.h"

namespace mangrove::infer {

/// The form in which the device of a view sends values: f32, one value of the network after the other, each with the
/// rows of all samples.
class ViewFormat {
 public:
  /// values: names of values of the device's part of the network.
  ViewFormat(const Graph& part, std::span<const std::string> values);
  std::int64_t elements(std::int64_t samples) const;
  Bytes bytes(std::int64_t samples) const { return elements(samples) * static_cast<Bytes>(sizeof(float)); }
  /// Appends these rows of `values`, which have `count` samples.
  void append_rows(std::span<const float> values, std::int64_t count, std::span<const std::uint32_t> rows,
                   std::vector<float>& to) const;

 private:
  std::vector<std::int64_t> widths_;  // floats of each value, for one sample
};

/// The compiled part of a network on the device of a view. threads: one at a time.
class ViewDevice {
 public:
  /// errors: those of CompiledStage::create.
  static Result<std::unique_ptr<ViewDevice>> create(const ViewSplit::Device& part, const CompiledStageOptions& options);

  struct Values {
    std::vector<float> scores, features;
  };
  /// images: [count, C, H, W] with all views, because samples are stored so. Only the view is used.
  Values run(std::int64_t count, std::span<const float> images);
  std::int64_t image_elements(std::int64_t count) const { return stage_->input_elements(count); }
  double flops() const { return stage_->flops(); }  // of the last run

 private:
  /// Where a value lies within the stage's outputs for one sample.
  struct Place {
    std::int64_t first, width;
  };
  explicit ViewDevice(std::unique_ptr<CompiledStage> stage) : stage_(std::move(stage)) {}

  std::unique_ptr<CompiledStage> stage_;
  std::vector<Place> scores_, features_;
};

/// The leader's part of a network of several views: it fuses the values of the views' devices. threads: one at a time.
class ViewFusion {
 public:
  /// errors: those of split_views and of compiling the parts; invalid_argument (exit_thresholds are neither empty nor
  /// one number from 0 to 1 for each early exit).
  static Result<std::unique_ptr<ViewFusion>> create(const Graph& network, const InferJob& job,
                                                    const CompiledStageOptions& options);

  std::size_t views() const { return split_.devices.size(); }
  std::size_t exits() const { return 1 + split_.upper.outputs().size(); }
  const ViewFormat& scores(std::size_t view) const { return scores_[view]; }
  const ViewFormat& features(std::size_t view) const { return features_[view]; }
  /// The values that stand for a lost device: the outputs of its part for zeros, for one sample. errors: those of
  /// compiling it.
  Result<const ViewDevice::Values*> lost(std::size_t view);

  /// The answers at the first exit, from the scores of all views. In these answers all samples "leave" there; leaves()
  /// says which really do.
  Result<std::span<const exits::EarlyExit::Answer>> first_exit(std::int64_t count, std::span<const float> scores) {
    return first_exit_->classify(count, scores);
  }
  bool leaves(const exits::EarlyExit::Answer& at_first_exit) const;
  // Floating-point operations of the last first_exit() and the last rest().
  double first_exit_flops() const { return first_exit_->flops(); }
  double rest_flops() const { return rest_->flops(); }
  /// The answers at the other exits, from the features of all views.
  Result<std::span<const exits::EarlyExit::Answer>> rest(std::int64_t count, std::span<const float> features) {
    return rest_->classify(count, features);
  }

 private:
  ViewFusion(ViewSplit split, std::vector<float> thresholds, CompiledStageOptions options);

  const ViewSplit split_;
  const std::vector<float> thresholds_;
  const CompiledStageOptions options_;
  std::vector<ViewFormat> scores_, features_;
  std::vector<std::optional<ViewDevice::Values>> lost_;
  std::unique_ptr<exits::EarlyExit> first_exit_, rest_;
};

/// The part behind the first exit. errors: those of EarlyExit::create_part.
Result<std::unique_ptr<exits::EarlyExit>> make_upper_part(const ViewSplit& split, const InferJob& job,
                                                          const CompiledStageOptions& options);

}  // namespace mangrove::infer
