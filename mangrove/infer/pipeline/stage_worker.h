#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>

#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/held_stages.h"
#include "mangrove/infer/pipeline/sample_feed.h"
#include "mangrove/infer/pipeline/stream_part.h"
#include "mangrove/infer/pipeline/work_meter.h"

namespace mangrove::infer {

/// A node's part in the pipeline: its stages, the micro-batches that wait for them, and the measured cost of these.
/// threads: one at a time.
class StageWorker final : public StreamPart {
 public:
  explicit StageWorker(StreamPartOptions options);

  std::uint64_t generation() const override { return generation_; }
  bool makes_sense(const Command& command, const Graph& graph) const override {
    return infer::makes_sense(command, graph, context_.endpoint.size());
  }
  Status place(const Command& command, const Graph& graph, const SampleSource& source) override;
  void feed(const Command& command) override;
  void take_activation(net::Message message) override;
  bool has_work() const override { return !tasks_.empty(); }
  Status work() override;

 private:
  /// A micro-batch that waits for a stage of this node.
  struct Task {
    Activation header;
    std::string payload;  // ends with the body; unused in the first stage, whose samples the loader prepares
    std::size_t body_bytes = 0;
    Deadline deadline = Deadline::never();
    SampleFeed::Request samples = {};  // first stage only
  };

  bool is_mine(const HeldStages::Route& route, std::size_t stage) const;
  void run_stage(const Task& task, Instant start);
  void send_predictions(const Activation& header, Trace trace, std::span<const float> values);
  void send_on(const Task& task, Trace trace, std::span<const float> values);

  const InferJob& job_;
  job::RoleContext& context_;
  std::uint64_t generation_ = 0;
  HeldStages stages_;
  ActivationCodec codec_;
  std::map<std::size_t, Seconds> overhead_;  // time of sending, by stage; reported with the next micro-batch
  WorkMeter meter_;
  SampleFeed samples_;  // requests are in the order of the first stage's tasks
  std::deque<Task> tasks_;
};

}  // namespace mangrove::infer
