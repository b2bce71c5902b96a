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

/// Makes the plans of a run and changes them. It compares the measured cost of micro-batches with the predicted cost.
/// If a board or link has become slower or faster, it corrects the profile and plans again.
///
/// hysteresis  A board has drifted (plan::is_drift) if its median time in a round, relative to the prediction, has
///             drifted in two rounds in succession. A round has kRound micro-batches times the largest number of boards
///             of a stage. A link has drifted if the time between two answers has; links of a stage with several boards
///             are not considered. A plan is changed if kRule is met: the remaining work is the micro-batches still to
///             come, and the price of a change is its pause. After a plan was not changed, the next look comes twice as
///             late. No input or output; threads: one at a time.
class Replanner {
 public:
  static constexpr int kRound = 12;
  static constexpr plan::ChangeRule kRule{.speedup = 1.15, .gain = 2};
  static constexpr Seconds kHorizon = 60;  // a change must pay within this time if the remaining work is not known

  /// measured: at least one device. graph: must outlive this object.
  Replanner(const Graph& graph, std::vector<DeviceProfile> measured, InferJob job);

  /// A plan for these ranks, by the present profiles. A rank that came too late to be measured gets the profile of the
  /// first other one. With fewer ranks than the stages that were asked for, the plan has as many stages as pay. errors:
  /// those of plan_stages.
  Result<StagePlan> plan(const net::RankSet& ranks) const { return plan_for(devices_, ranks); }

  /// Whether each of these ranks, one for each replica of each stage in order, has as much memory as the plan predicts
  /// for the rank that has the replica now.
  bool has_room(const StagePlan& plan, std::span<const net::Rank> successors) const;

  /// The whole network on each of these ranks, whatever the job says of stages.
  StagePlan whole_on_each(const net::RankSet& ranks) const;

  /// The time of these operators of the graph on rank `to`, divided by their time on rank `from`.
  double ratio(std::span<const std::uint32_t> nodes, net::Rank from, net::Rank to) const;

  /// A plan begins. Measurements of another plan are dropped.
  void begin(const StagePlan& plan);
  /// A micro-batch has gone through all stages of the plan and was answered at this time.
  void add(const Trace& trace, Instant answered);

  struct Outlook {
    std::optional<double> left;  // micro-batches still to come; nothing: not known
    Seconds pause = 0;           // time without answers that a change costs
  };
  /// A plan for these ranks that is worth the change. Most calls do not look and return nothing.
  std::optional<StagePlan> revise(const StagePlan& plan, const net::RankSet& ranks, const Outlook& outlook);

 private:
  struct Round {
    std::vector<std::map<net::Rank, std::vector<Seconds>>> seconds;  // by stage and by the rank that has it
    std::vector<std::vector<Seconds>> transit;  // on the way to each stage, with the offset of two clocks
    std::vector<std::int64_t> sent_bytes;       // by stage
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
  std::vector<DeviceProfile> devices_;  // the present profiles
  Round round_;
  std::vector<Seconds> least_transit_;  // by stage, since the plan began
  // Results of the last round:
  Factors factors_;  // empty: there was none
  std::optional<std::size_t> slow_link_;
  int rounds_to_wait_ = 0, backoff_ = 1;
};

}  // namespace mangrove::infer
