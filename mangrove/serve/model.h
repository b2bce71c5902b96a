#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::serve {

/// A tensor with its name in the model.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What clients may know about an input or an output.
struct TensorMetadata {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // -1: any size, which is the batch
};

/// What clients may know about one version of a model.
struct ModelMetadata {
  std::string name;
  std::string version;   // "1", "2", ...
  std::string platform;  // "onnx_mangrove"
  std::vector<TensorMetadata> inputs, outputs;
  std::vector<std::string> labels;  // of the classes, by number; empty: the network has none
  std::int64_t max_batch =
      0;  // samples that are computed together; a request may have more. 0: the network has no batch
  std::map<std::string, std::string> properties;  // what the network's file says of itself
};

/// One question to a model.
struct InferenceRequest {
  std::string id;                         // the client's own; comes back with the answer
  std::vector<NamedTensor> inputs;        // all of the model's inputs, in any order; boolean elements are 0 or 1
  std::vector<std::string> outputs;       // names of those that are wanted; empty: all
  Deadline deadline = Deadline::never();  // of SteadyClock
  int priority = 0;                       // requests with a higher number are answered first
  std::string trace_id = {};              // of the distributed trace that it belongs to; "": of none
};

struct InferenceResponse {
  std::string version;  // of the model that answered
  std::vector<NamedTensor> outputs;
  Seconds queued = 0;    // until its first sample was computed
  Seconds computed = 0;  // the batches that its samples were in
};

/// Gets the answer of one request, once, on any thread; it must not block, and does not throw.
using AnswerSink = std::function<void(Result<InferenceResponse>)>;

/// How often something happened, and how long it took altogether: nanoseconds, as the statistics extension of the Open
/// Inference Protocol counts.
struct DurationCount {
  std::uint64_t count = 0;
  std::uint64_t nanoseconds = 0;
};

/// What a model has done since it was loaded.
struct ModelStatistics {
  std::uint64_t inferences = 0;      // samples answered
  std::uint64_t executions = 0;      // of the network, each for a batch
  std::uint64_t last_inference = 0;  // milliseconds since 1970; 0: none yet
  DurationCount success, fail, queue, compute_input, compute_infer, compute_output;
  struct Batch {
    DurationCount compute_input, compute_infer, compute_output;
  };
  std::map<std::int64_t, Batch> batches;  // by batch size
  std::uint64_t refused = 0;              // requests that found the queue full
  std::int64_t waiting = 0;               // requests in the queue now
  Seconds p50 = 0, p99 = 0;               // from a request's arrival to its answer, within 10 %; 0: none yet
};

/// What a network says of a sample at one of its exits.
struct ExitAnswer {
  std::size_t exit = 0;        // from 1
  bool is_last = false;        // the sample leaves here
  float entropy = 0;           // normalised, from 0 (certain) to 1; NaN where the output is no number
  InferenceResponse response;  // the output of this exit; times since the request came
};

/// A request that is answered exit by exit. threads: one at a time.
class ExitRun {
 public:
  virtual ~ExitRun() = default;
  /// Computes on to the next exit. REQUIRES: the last answer was not the last one. errors: those of the computation.
  virtual Result<ExitAnswer> next() = 0;
};

/// One version of a model that answers requests: here, on other boards, behind a queue, ...
/// threads: any thread may call any method.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelMetadata& metadata() const = 0;
  /// Answers later, or at once. errors, by `answer`: invalid_argument (inputs or outputs that the model does not have,
  /// other types or shapes; names them), resource_exhausted (the queue is full: try again later), deadline_exceeded
  /// (the request's deadline has passed), unavailable (the model is being unloaded), those of the computation.
  virtual void infer(InferenceRequest request, AnswerSink answer) = 0;
  /// Begins a request for one sample of a network with early exits, which must not outlive the model. thresholds: at
  /// which normalised entropies it leaves an exit ("0.05,0.2"); "": those in the network's metadata; "none": at none.
  /// errors: unimplemented (the model is not computed exit by exit: says why), those of infer() but for the queue's.
  virtual Result<std::unique_ptr<ExitRun>> begin_exits(const InferenceRequest& /*request*/,
                                                       const std::string& /*thresholds*/) {
    return make_error(Code::unimplemented, "this model is not computed exit by exit");
  }
  virtual ModelStatistics statistics() const = 0;
};

}  // namespace mangrove::serve
