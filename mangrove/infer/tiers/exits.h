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

/// One network with early exits that lies over the tiers of a job, in place of a network on each: end devices compute
/// it up to one of its exits and give first answers; for the samples that do not leave there, edge or cloud compute the
/// rest, from the values behind that exit, and give second answers. On three levels edge servers stop at an exit too,
/// and the cloud gives third answers to the samples that do not leave there either.
/// source: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
/// ICDCS 2017.
struct TierExits {
  /// What gives one of the answers: the exits from behind those of the level below.
  struct Level {
    std::size_t end = 0;    // its last exit, from 1
    Bytes value_bytes = 0;  // behind it, for a sample; 0 behind the network's last
  };
  std::vector<Level> levels;  // by answer; none: each tier has a network of its own

  bool any() const { return !levels.empty(); }
  /// That an image can have.
  std::size_t answers() const { return any() ? levels.size() : 2; }
  const Level& level(Answer answer) const { return levels.at(static_cast<std::size_t>(answer)); }
  bool is_last(Answer answer) const { return static_cast<std::size_t>(answer) + 1 == answers(); }
  /// The first exit of that answer's level, from 0.
  std::size_t begin(Answer answer) const { return answer == Answer::first ? 0 : level(before(answer)).end; }
  /// Whether a sample of which an answer gives that exit (as in TierAnswer) has not left with it.
  bool stays(Answer answer, std::size_t exit) const { return any() && !is_last(answer) && exit >= level(answer).end; }

  /// Tasks of so many samples whose values rank 0 shall hold; end devices wait when there are more.
  std::size_t most_kept(std::int64_t samples) const;

  static Answer before(Answer answer) { return static_cast<Answer>(static_cast<std::size_t>(answer) - 1); }
  static Answer behind(Answer answer) { return static_cast<Answer>(static_cast<std::size_t>(answer) + 1); }
};

/// errors: invalid_argument: the network, its thresholds, the tiers, scheduler or goal do not fit each other; names the
/// key. Nothing is checked of a job without such a network.
Result<TierExits> tier_exits(const InferJob& job);

Tier tier_of(const TierPart& part);
bool has_tier_exits(const InferJob& job);
/// The most that an image of the job can have: 3 with exits on three levels, else 2.
std::size_t answers_of(const InferJob& job);
/// Which part of such a network gives that answer. REQUIRES: it is one of answers_of().
exits::ExitRange exit_range(const InferJob& job, Answer answer);
/// That devices of that tier of the job (by its position) are there for.
Answer answer_of(const InferJob& job, std::size_t part);
/// Whether devices of that tier of the job (by its position) classify the samples of such a task themselves; else
/// values come with it in their place.
bool sees_samples(const InferJob& job, std::size_t part, Answer answer);
/// Whether devices of that tier need the data set, for the answers that they are there for.
bool needs_data(const InferJob& job, std::size_t part);
bool has_tier_without_data(const InferJob& job);

/// The values behind a level's exits that rank 0 holds until the next answer to their batch has come, so that they can
/// be given to another device when one is lost.
class DeferredSamples {
 public:
  explicit DeferredSamples(const TierExits& exits) : exits_(exits) {}

  /// For that task: of the samples that it is about, in their order.
  void keep(const TierTask& task, std::string values);
  void drop(const TierTask& task) { values_.erase(task); }
  template <class Predicate>
  void drop_if(Predicate&& is_done) {
    std::erase_if(values_, [&](const auto& entry) { return is_done(entry.first); });
  }
  /// Has a task be about them. REQUIRES: they are kept for it.
  void give(Command& task) const;
  /// That have been kept so far for such answers.
  Bytes received(Answer answer) const { return received_[static_cast<std::size_t>(answer)]; }

 private:
  const TierExits exits_;
  std::map<TierTask, std::string> values_;
  std::array<Bytes, kAnswers> received_{};
};

}  // namespace mangrove::infer
