#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/learn/loss.h"
#include "mangrove/net/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/part_exchange.h"
#include "mangrove/train/source.h"
#include "mangrove/train/stage_values.h"
#include "mangrove/train/step_timer.h"

namespace mangrove::train {

/// Micro-batches of each mini-batch that so many samples make: all mini-batches of `batch` samples but the last, all
/// micro-batches of `rows` but each last.
std::vector<std::int64_t> divide(std::int64_t samples, std::int64_t batch, std::int64_t rows);

/// The samples of one piece of work on their way through one stage: where its values come from and go to. The first
/// stage reads samples and sends the last one what they should come out as; activations go from stage to stage, and
/// gradients back. threads: one at a time.
class StagePassage {
 public:
  /// What a worker has for all its passages.
  struct Tools {
    net::RoleContext& context;
    PartExchange& parts;
    StepTimer& timer;
    Source& samples;
    std::optional<net::Message>& interruption;
    Seconds patience;    // with a neighbour that sends nothing, before the leader is told
    std::int64_t batch;  // samples of a mini-batch
  };
  /// Some of the samples, which go through the stages at once.
  struct MicroBatch {
    std::size_t mini_batch = 0;
    std::int64_t first = 0, count = 0;  // samples of the mini-batch
  };
  /// What the rows of a micro-batch should have come out as; see learn::Targets.
  struct Targets {
    std::vector<std::int32_t> labels, second;
    std::vector<float> share;
  };

  /// index: of the stage in the work's pipeline. REQUIRES: all ranks of it are others than this one or its own place.
  StagePassage(const Work& work, std::size_t index, const StageValues& values, const Tools& tools);

  bool is_first() const { return index_ == 0; }
  bool is_last() const { return index_ + 1 == ranks_.size(); }
  const std::vector<MicroBatch>& micro_batches() const { return micro_batches_; }
  /// Of a mini-batch.
  std::int64_t samples(std::size_t mini_batch) const;

  // All of a micro-batch, in the order of its number. Nothing: the leader has other work, or a neighbour is gone and it
  // will have. errors: cancelled; of the first stage those of Source.
  template <class T>
  using Maybe = Result<std::optional<T>>;
  /// Values before the stage; valid until the next call.
  Maybe<std::span<const float>> receive_values(std::int64_t micro_batch);
  Maybe<Targets> receive_targets(std::int32_t classes);
  Maybe<std::span<const float>> receive_gradients();
  void send_values(std::span<const float> values);
  void send_gradients(std::span<const float> gradients);
  /// Whether the leader has other work. Otherwise it is told that this stage gets on, where it could take it for
  /// silent. done: share of what there is to do.
  Result<bool> is_interrupted(double done);

 private:
  Maybe<std::span<const float>> receive(net::Rank from, std::uint32_t stream, std::size_t elements);
  Result<bool> wait(net::Rank from);
  Result<bool> load(std::size_t mini_batch);
  void send_targets(const MicroBatch& micro_batch);
  Source::Samples samples_of(std::size_t mini_batch) const;
  void tell_waiting(net::Rank from);

  const Work& work_;
  const std::size_t index_;
  const StageValues& values_;
  const Tools tools_;
  net::RankSet ranks_;  // of the stages
  const std::size_t rows_;
  std::vector<MicroBatch> micro_batches_;
  std::size_t mini_batches_ = 0;
  std::optional<data::Batch> batch_;  // of the first stage
  std::size_t loaded_ = 0;            // its number
  std::vector<float> received_;
  std::deque<std::vector<float>> own_targets_;  // where the first stage is the last one
  Instant last_told_;
};

}  // namespace mangrove::train
