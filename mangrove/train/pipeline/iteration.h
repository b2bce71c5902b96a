#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/loss.h"
#include "mangrove/train/chunk_channel.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/places.h"
#include "mangrove/train/pipeline/stage_values.h"
#include "mangrove/train/source.h"
#include "mangrove/train/step_timer.h"

namespace mangrove::train {

/// One iteration of samples through one stage: it knows where the stage's values come from and where they go. The first
/// stage reads samples and sends the targets to the last one. Activations travel from stage to stage, and gradients
/// travel back. A replica of a stage has some of the micro-batches. It exchanges each of them with the replicas that
/// have it in the stages before and behind. lead_pipeline() gives the bytes. threads: one at a time.
class PipelineIteration {
 public:
  /// What a worker uses in all its iterations.
  struct Tools {
    job::RoleContext& context;
    ChunkChannel& parts;
    StepTimer& timer;
    Source& samples;
    std::optional<net::Message>& interruption;
    Seconds patience;    // how long a neighbour may be silent before the leader is told
    std::int64_t batch;  // samples in a mini-batch
  };
  /// The expected outputs of the rows of a micro-batch; see learn::Targets.
  struct Targets {
    std::vector<std::int32_t> labels, second;
    std::vector<float> share;
  };

  /// place: the place of this rank in the work's pipeline.
  PipelineIteration(const Work& work, const StagePlace& place, const StageValues& values, const Tools& tools);

  bool is_first() const { return place_.stage == 0; }
  bool is_last() const { return place_.stage + 1 == stages_.size(); }
  /// Whether other devices have the same stage.
  bool has_replicas() const { return stages_[place_.stage].ranks.size() > 1; }
  bool is_first_replica() const { return place_.replica == 0; }
  const std::vector<MicroBatch>& micro_batches() const { return micro_batches_; }
  /// The actions of this replica, among all actions of the stage.
  std::vector<Action> own(std::span<const Action> actions) const;
  /// The number of samples of a mini-batch.
  std::int64_t samples(std::size_t mini_batch) const;

  // The following methods are about a micro-batch of this replica, and are called in the order of the micro-batches.
  // They return nothing if the leader has other work, or will have some because a neighbour is gone.
  // errors: cancelled; in the first stage those of Source.
  template <class T>
  using Maybe = Result<std::optional<T>>;
  /// The values before the stage; valid until the next call.
  Maybe<std::span<const float>> receive_values(std::int64_t micro_batch);
  Maybe<Targets> receive_targets(std::int64_t micro_batch, std::int32_t classes);
  Maybe<std::span<const float>> receive_gradients(std::int64_t micro_batch);
  void send_values(std::int64_t micro_batch, std::span<const float> values);
  void send_gradients(std::int64_t micro_batch, std::span<const float> gradients);
  /// Replaces these values by their sums over the stage's replicas, with the same bits on each of them. The sum is made
  /// along a ring, see plan_all_reduce(). Returns false in the cases in which the methods above return nothing.
  Result<bool> add_up(std::span<float> values);
  /// Whether the leader has other work. If not, it tells the leader now and then that this stage advances, so that the
  /// leader does not take it for silent. done: the share of the work that is done.
  Result<bool> is_interrupted(double done);

 private:
  struct StageRanks {
    net::RankSet ranks;
    std::vector<std::size_t> owners;  // position in `ranks` of the owner of each micro-batch
  };
  net::Rank rank_of(std::size_t stage, std::int64_t micro_batch) const;
  Maybe<std::span<const float>> receive(net::Rank from, std::uint32_t stream, std::size_t elements);
  Result<bool> wait(net::Rank from);
  Result<bool> load(std::size_t mini_batch);
  void send_targets(std::int64_t micro_batch);
  Source::Samples own_samples(std::span<const std::uint32_t> mini_batch) const;
  Source::Samples own_samples(std::size_t mini_batch) const;
  void tell_waiting(net::Rank from);

  const Work& work_;
  const StagePlace place_;
  const StageValues& values_;
  const Tools tools_;
  std::vector<StageRanks> stages_;
  const std::size_t rows_;
  std::vector<MicroBatch> micro_batches_;
  std::size_t mini_batches_ = 0;
  std::vector<std::int64_t> rows_before_;  // rows of this replica before each micro-batch, in its mini-batch
  std::optional<data::Batch> batch_;       // first stage only: this replica's part of a mini-batch
  std::size_t loaded_ = 0;                 // number of that mini-batch
  std::vector<float> received_;
  std::deque<std::vector<float>> own_targets_;  // if the first stage is the last one
  Instant last_told_;
};

}  // namespace mangrove::train
