#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/exits/segment.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

/// One network with early exits over all tiers of a job, in place of a network on each tier.
///
/// End devices compute the network up to one of its exits and give first answers. A sample that is not confident enough
/// there stays, and the values behind the exit go to rank 0. Edge servers or the cloud get these values, compute the
/// rest of the network, and give second answers. With three levels, edge servers stop at a later exit, and the cloud
/// gives third answers to the samples that stay there too.
///
/// right    A sample leaves at the first exit at which it is confident enough, as on one device. The parts together
///          compute the same network.
/// cost     A sample that leaves costs only its answer. A sample that stays at an exit sends 4 w bytes to rank 0 and
///          the same to the next tier, where w values cross the cut behind the exit. Rank 0 keeps these values until
///          the next answer has come, at most about 256 MB of them.
/// source   Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
///          ICDCS 2017.
struct TierExits {
  /// A level of the network: the exits that give one of the answers. It begins behind the exits of the level before.
  struct Level {
    std::size_t end = 0;    // its last exit, counted from 1
    Bytes value_bytes = 0;  // values behind that exit, for one sample; 0 behind the last exit of the network
  };
  std::vector<Level> levels;  // by answer; empty: each tier has a network of its own

  bool any() const { return !levels.empty(); }
  /// The most answers that an image can have.
  std::size_t answers() const { return any() ? levels.size() : 2; }
  const Level& level(Answer answer) const { return levels.at(static_cast<std::size_t>(answer)); }
  bool is_last(Answer answer) const { return static_cast<std::size_t>(answer) + 1 == answers(); }
  /// The first exit of that answer's level, counted from 0.
  std::size_t begin(Answer answer) const { return answer == Answer::first ? 0 : level(before(answer)).end; }
  /// Whether a sample needs a further answer: this answer names this exit (as in TierAnswer), which lies behind the
  /// answer's level.
  bool stays(Answer answer, std::size_t exit) const { return any() && !is_last(answer) && exit >= level(answer).end; }

  /// The number of tasks whose values rank 0 may keep at once. samples: the samples of a task. While there are more
  /// such tasks, end devices get no new ones.
  std::size_t most_kept(std::int64_t samples) const;

  static Answer before(Answer answer) { return static_cast<Answer>(static_cast<std::size_t>(answer) - 1); }
  static Answer behind(Answer answer) { return static_cast<Answer>(static_cast<std::size_t>(answer) + 1); }
};

/// The levels of the job's network; none if the job has no network over the tiers, and then nothing is checked. errors:
/// invalid_argument (the network, its thresholds, the tiers, the scheduler or the goal do not fit each other; names the
/// key).
Result<TierExits> tier_exits(const InferJob& job);

Tier tier_of(const TierPart& part);
bool has_tier_exits(const InferJob& job);
/// The most answers that an image of the job can have: 3 with exits on three levels, else 2.
std::size_t answers_of(const InferJob& job);
/// The part of the network over the tiers that gives this answer. REQUIRES: it is one of answers_of().
exits::ExitRange exit_range(const InferJob& job, Answer answer);
/// The answer that devices of a tier give, unless others have to take over. part: the tier's position in the job.
Answer answer_of(const InferJob& job, std::size_t part);
/// Whether devices of a tier read the samples of such a task themselves. If not, values come with the task. part: the
/// tier's position in the job.
bool sees_samples(const InferJob& job, std::size_t part, Answer answer);
/// Whether devices of a tier need the data set for the answer of answer_of().
bool needs_data(const InferJob& job, std::size_t part);
/// Whether any tier of the job does not need the data set.
bool has_tier_without_data(const InferJob& job);

/// The values behind an exit of the samples that stayed there. Rank 0 keeps them until the next answer to their batch
/// has come, so that another device can get them when one is lost.
class DeferredSamples {
 public:
  explicit DeferredSamples(const TierExits& exits) : exits_(exits) {}

  /// values: for that task, of the samples that it is about, in their order.
  void keep(const TierTask& task, std::string values);
  void drop(const TierTask& task) { values_.erase(task); }
  template <class Predicate>
  void drop_if(Predicate&& is_done) {
    std::erase_if(values_, [&](const auto& entry) { return is_done(entry.first); });
  }
  /// Puts the values into a task's command. REQUIRES: values are kept for this task.
  void give(Command& task) const;
  /// Bytes of all values that were ever kept for this answer.
  Bytes received(Answer answer) const { return received_[static_cast<std::size_t>(answer)]; }

 private:
  const TierExits exits_;
  std::map<TierTask, std::string> values_;
  std::array<Bytes, kAnswers> received_{};
};

}  // namespace mangrove::infer
