#pragma once

#include <memory>
#include <string>

#include "mangrove/base/mutex.h"
#include "mangrove/data/dataset.h"
#include "mangrove/engine/execution.h"

namespace mangrove::learn {

/// A network that is not trained, and what it makes of samples. They go through it one at a time, as in inference, so
/// that what comes of a sample depends on nothing but the sample.
/// threads: any; one sample at a time.
class FeatureExtractor {
 public:
  /// Takes its own copy of the weights. backend, threads: as of CompileOptions. errors: invalid_argument (not one f32
  /// input [N, ...] and one f32 output [N, ...]: says what differs); those of Program::compile and Execution::create.
  static Result<std::shared_ptr<FeatureExtractor>> create(const Graph& graph, const std::string& backend, int threads);

  Shape sample_shape() const { return sample_; }
  Shape feature_shape() const { return features_; }
  /// sample, features: as many elements as their shapes have.
  void operator()(std::span<const float> sample, std::span<float> features);

 private:
  FeatureExtractor(const Graph& graph, std::unique_ptr<Execution> execution);

  const std::string input_, output_;
  const Shape sample_, features_;
  Mutex mutex_;
  const std::unique_ptr<Execution> execution_ MG_GUARDED_BY(mutex_);
};

/// The data set with each sample's features in the sample's place. Reading one runs the network, so decodes() is true.
/// errors: invalid_argument (its samples do not fit: names both shapes).
Result<std::shared_ptr<const data::Dataset>> features_of(std::shared_ptr<const data::Dataset> dataset,
                                                         std::shared_ptr<FeatureExtractor> extractor);

}  // namespace mangrove::learn
