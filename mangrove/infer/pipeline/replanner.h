#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/infer/pipeline/stage_plan.h"
#include "mangrove/plan/revision.h"

namespace mangrove::infer {

/// Makes the plans of a run, and revises them: compares what micro-batches cost with what was predicted, takes a board
/// that is slower or faster than it was, or a link, for what it is now, and plans anew.
///
/// hysteresis  A board has drifted (plan::is_drift) when the median of a round of kRound micro-batches (times the most
///             boards of a stage) has, beside what was predicted, in two rounds one after the other; a link when the
///             time between answers has; links of a stage with several boards are not looked at. A plan is changed
///             where kRule is met: what is left are the micro-batches to come, and a change costs its pause. After a
///             refusal the next look comes twice as late.
/// No input or output; threads: one at a time.
class Replanner {
 public:
  static constexpr int kRound = 12;
  static constexpr plan::ChangeRule kRule{.speedup = 1.15, .gain = 2};
  static constexpr Seconds kHorizon = 60;  // for which a change has to pay where nobody knows how many are to come

  /// measured: at least one. graph must outlive this.
  Replanner(const Graph& graph, std::vector<DeviceProfile> measured, InferJob job);

  /// For these ranks, with what is known of them now. One that came too late to be measured is taken for such as the
  /// first other. Where there are fewer than stages were asked for, there are as many as are worth it. errors: those of
  /// plan_stages.
  Result<StagePlan> plan(const net::RankSet& ranks) const { return plan_for(devices_, ranks); }

  /// How many times as long these operators of the graph take the rank `to` as `from`.
  double ratio(std::span<const std::uint32_t> nodes, net::Rank from, net::Rank to) const;

  /// What was seen of another plan is forgotten.
  void begin(const StagePlan& plan);
  /// A micro-batch went through all stages of the plan, and was answered then.
  void add(const Trace& trace, Instant answered);

  struct Outlook {
    std::optional<double> left;  // micro-batches to come; nothing: not known
    Seconds pause = 0;           // without answers, that a change makes
  };
  /// A plan for these ranks that is worth changing to. Seldom looks: nothing otherwise.
  std::optional<StagePlan> revise(const StagePlan& plan, const net::RankSet& ranks, const Outlook& outlook);

 private:
  struct Round {
    std::vector<std::map<net::Rank, std::vector<Seconds>>> seconds;  // by stage and who holds it
    std::vector<std::vector<Seconds>> transit;                       // by stage: to it, with the offset of two clocks
    std::vector<std::int64_t> sent_bytes;                            // by stage
    Instant first, last;
    int count = 0;
  };
  using Factors = std::map<net::Rank, double>;

  Result<StagePlan> plan_for(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) const;
  Seconds measured(std::size_t stage, const StagePlan::Replica& replica) const;
  Seconds compute_period(const StagePlan& plan) const;
  Seconds answer_period() const { return (round_.last - round_.first) / (round_.count - 1); }
  bool slow_down_links(const StagePlan& plan, std::optional<std::size_t> link,
                       std::vector<DeviceProfile>& devices) const;
  bool rescale(const Factors& factors, std::vector<DeviceProfile>& devices) const;
  Factors compute_factors(const StagePlan& plan) const;
  std::optional<std::size_t> drifted_link(const StagePlan& plan, Seconds compute) const;

  const Graph& graph_;
  InferJob job_;                        // without its network
  std::vector<DeviceProfile> devices_;  // as they are taken to be
  Round round_;
  std::vector<Seconds> least_transit_;  // since the plan began, by stage
  // of the last round
  Factors factors_;  // empty: there was none
  std::optional<std::size_t> slow_link_;
  int rounds_to_wait_ = 0, backoff_ = 1;
};

}  // namespace mangrove::infer
