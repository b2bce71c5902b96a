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

/// Where a node that holds the first stage reads samples.
struct SampleSource {
  std::shared_ptr<const data::Dataset> dataset;
  std::int64_t samples = 0;                   // of it, that the job uses
  std::shared_ptr<FrameSamples> frames = {};  // the same data set, of a job whose client pushes frames; else null
  data::LoaderOptions loading;                // of micro-batches, prepared as the network was trained
};

/// A node's part in the pipeline: the stages that it holds, the micro-batches that wait for them, and what these cost.
/// threads: one at a time.
class StageWorker {
 public:
  /// slowdown: how much longer a core takes here by a CPU quota.
  StageWorker(const InferJob& job, job::RoleContext& context, double slowdown);

  std::uint64_t generation() const { return generation_; }
  /// Begins a generation, which is newer: forgets the micro-batches of older ones. errors: those of HeldStages::place
  /// and Loader::next.
  Status place(const Command& command, const Graph& graph, const SampleSource& source);

  // Both ignore what makes no sense, or belongs to another generation.
  void feed(const Command& command);
  void take_activation(net::Message message);

  bool has_work() const { return !tasks_.empty(); }
  /// One micro-batch: its answer goes to the leader, or its values to the next stage; one whose time is up is dropped,
  /// and the leader told. errors: those of Loader::next
  /// and ActivationCodec::decode. REQUIRES: has_work().
  Status work();

 private:
  /// A micro-batch that waits for a stage of this node.
  struct Task {
    Activation header;
    std::string payload;  // body at the end; unused by the first stage, whose samples the loader prepares
    std::size_t body_bytes = 0;
    Deadline deadline = Deadline::never();
    std::vector<std::uint32_t> frames = {};  // of the first stage: their numbers, where a client pushes them
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
  std::map<std::size_t, Seconds> overhead_;  // of sending, by stage; told with its next micro-batch
  const bool has_spare_core_;                // for reading, sending and receiving beside computing
  const double slowdown_;
  Bytes resident_ = 0;       // the most since the stages were placed
  Instant looked_;           // when that was looked at
  Seconds counted_cpu_ = 0;  // of this process, as of the last micro-batch
  SampleSource source_;
  std::optional<data::Loader> loader_;  // requests are in the order of the first stage's tasks
  std::deque<Task> tasks_;
};

}  // namespace mangrove::infer
