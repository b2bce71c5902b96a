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

/// The samples of one piece of work on their way through one stage: where its values come from and go to. The first
/// stage reads samples and sends the last one what they should come out as; activations go from stage to stage, and
/// gradients back. A replica of a stage has some of the micro-batches, and gets and sends each from and to the replicas
/// that have it elsewhere. threads: one at a time.
class PipelineIteration {
 public:
  /// What a worker has for all its passages.
  struct Tools {
    job::RoleContext& context;
    ChunkChannel& parts;
    StepTimer& timer;
    Source& samples;
    std::optional<net::Message>& interruption;
    Seconds patience;    // with a neighbour that sends nothing, before the leader is told
    std::int64_t batch;  // samples of a mini-batch
  };
  /// What the rows of a micro-batch should have come out as; see learn::Targets.
  struct Targets {
    std::vector<std::int32_t> labels, second;
    std::vector<float> share;
  };

  /// place: of this rank in the work's pipeline.
  PipelineIteration(const Work& work, const StagePlace& place, const StageValues& values, const Tools& tools);

  bool is_first() const { return place_.stage == 0; }
  bool is_last() const { return place_.stage + 1 == stages_.size(); }
  /// Other devices have the same stage.
  bool has_replicas() const { return stages_[place_.stage].ranks.size() > 1; }
  bool is_first_replica() const { return place_.replica == 0; }
  const std::vector<MicroBatch>& micro_batches() const { return micro_batches_; }
  /// Of the actions of the stage, those of this replica.
  std::vector<Action> own(std::span<const Action> actions) const;
  /// Of a mini-batch.
  std::int64_t samples(std::size_t mini_batch) const;

  // All of a micro-batch of this replica's, in the order of its number. Nothing: the leader has other work, or a
  // neighbour is gone and it will have. errors: cancelled; of the first stage those of Source.
  template <class T>
  using Maybe = Result<std::optional<T>>;
  /// Values before the stage; valid until the next call.
  Maybe<std::span<const float>> receive_values(std::int64_t micro_batch);
  Maybe<Targets> receive_targets(std::int64_t micro_batch, std::int32_t classes);
  Maybe<std::span<const float>> receive_gradients(std::int64_t micro_batch);
  void send_values(std::int64_t micro_batch, std::span<const float> values);
  void send_gradients(std::int64_t micro_batch, std::span<const float> gradients);
  /// The sums of these values over the stage's replicas take their place, the same bits on each of them. False: as
  /// `Nothing` above.
  Result<bool> add_up(std::span<float> values);
  /// Whether the leader has other work. Otherwise it is told that this stage gets on, where it could take it for
  /// silent. done: share of what there is to do.
  Result<bool> is_interrupted(double done);

 private:
  struct StageRanks {
    net::RankSet ranks;
    std::vector<std::size_t> owners;  // of all micro-batches, as positions among the ranks
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
  std::vector<std::int64_t> rows_before_;  // each micro-batch, in the own part of its mini-batch
  std::optional<data::Batch> batch_;       // of the first stage: the own part of a mini-batch
  std::size_t loaded_ = 0;                 // its number
  std::vector<float> received_;
  std::deque<std::vector<float>> own_targets_;  // where the first stage is the last one
  Instant last_told_;
};

}  // namespace mangrove::train
