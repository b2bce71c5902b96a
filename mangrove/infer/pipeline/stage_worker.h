#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/frame_samples.h"
#include "mangrove/infer/pipeline/held_stages.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Where a node with the first stage reads samples.
struct SampleSource {
  std::shared_ptr<const data::Dataset> dataset;
  std::int64_t samples = 0;                   // the number of its samples that the job uses
  std::shared_ptr<FrameSamples> frames = {};  // the same data set, if a client pushes frames; else null
  data::LoaderOptions loading;                // prepares samples as in the network's training
};

/// A node's part in the pipeline: its stages, the micro-batches that wait for them, and the measured cost of these.
/// threads: one at a time.
class StageWorker {
 public:
  /// slowdown: the factor by which a CPU quota stretches the time of a core. load: gives stages their weights.
  StageWorker(const InferJob& job, job::RoleContext& context, double slowdown, LoadParameters load);

  std::uint64_t generation() const { return generation_; }
  /// Begins a newer generation and forgets the micro-batches of older ones. errors: those of HeldStages::place and
  /// Loader::next.
  Status place(const Command& command, const Graph& graph, const SampleSource& source);

  // Both ignore messages that make no sense or belong to another generation.
  void feed(const Command& command);
  void take_activation(net::Message message);

  bool has_work() const { return !tasks_.empty(); }
  /// Computes one micro-batch. Its answer goes to the leader, or its values to the next stage. A micro-batch whose
  /// deadline has passed is dropped, and the leader is told. errors: those of Loader::next and ActivationCodec::decode.
  /// REQUIRES: has_work().
  Status work();

 private:
  /// A micro-batch that waits for a stage of this node.
  struct Task {
    Activation header;
    std::string payload;  // ends with the body; unused in the first stage, whose samples the loader prepares
    std::size_t body_bytes = 0;
    Deadline deadline = Deadline::never();
    std::vector<std::uint32_t> frames = {};  // first stage only: numbers of the frames that a client pushed
  };

  bool is_mine(const HeldStages::Route& route, std::size_t stage) const;
  Result<data::Batch> load(Task& task);
  void run_stage(const Task& task, Instant start);
  void send_missed(const Activation& header);
  void send_predictions(const Activation& header, Trace trace, std::span<const float> values);
  void send_on(const Task& task, Trace trace, std::span<const float> values);
  Seconds busy(std::size_t stage, Seconds computing);
  Bytes resident();

  const InferJob& job_;
  job::RoleContext& context_;
  std::uint64_t generation_ = 0;
  HeldStages stages_;
  ActivationCodec codec_;
  std::map<std::size_t, Seconds> overhead_;  // time of sending, by stage; reported with the next micro-batch
  const bool has_spare_core_;                // one core is free for reading, sending and receiving
  const double slowdown_;
  Bytes resident_ = 0;       // the most memory since the stages were placed
  Instant looked_;           // when the memory was last measured
  Seconds counted_cpu_ = 0;  // processor time of this process at the last micro-batch
  SampleSource source_;
  std::optional<data::Loader> loader_;  // requests are in the order of the first stage's tasks
  std::deque<Task> tasks_;
};

}  // namespace mangrove::infer
