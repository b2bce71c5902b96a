#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/plan/plan.h"
#include "mangrove/plan/stage_costs.h"

namespace mangrove::plan {

/// How many devices a plan may use.
struct DeviceRange {
  std::size_t least = 1;
  std::size_t most = static_cast<std::size_t>(-1);
};

/// Finds pipelines that are done with a micro-batch within each period. Dynamic programming from the last stage on: for
/// each choice of devices, the cuts at which a row of stages on just these can begin, without those that another one
/// is as good as. Exact.
/// cost: choices of devices x teams (sets of devices of one stage) x cuts that are not as good as each other.
/// threads: one at a time.
class PipelineSearch {
 public:
  /// `costs` must outlive it. teams: those that a stage may have.
  PipelineSearch(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds, const StageCosts& costs,
                 std::vector<Team> teams);

  /// The team of each stage, and the cuts before, between and behind them.
  struct Pipeline {
    std::vector<std::size_t> teams;
    std::vector<std::size_t> cuts;
  };
  /// A pipeline of the fewest devices that keeps the period, and fits their memory; nothing: there is none.
  std::optional<Pipeline> find(Seconds period, const DeviceRange& range);
  /// After find has found nothing: with the same range there is nothing for a shorter period than this either.
  Seconds least_possible() const { return needed_; }
  /// The same teams, with those cuts that keep the period through which a micro-batch gets soonest.
  Pipeline soonest(Pipeline pipeline, Seconds period);
  /// With the devices by number, each kind's first ones first.
  std::vector<Part> parts(const Pipeline& pipeline) const;

 private:
  /// The first stage of a row of stages.
  struct Row {
    std::uint32_t cut;   // at which it begins
    std::uint32_t team;  // of its first stage
    std::uint32_t next;  // slot and position of the row behind that stage
    std::uint32_t next_position;
  };
  std::size_t slot(std::size_t state, std::size_t team) const;
  void extend(std::size_t state, std::size_t from, std::size_t position, const DeviceRange& range);
  void prepend(std::size_t state, const Row& row, std::size_t team, bool may_be_whole);
  bool keeps(Seconds needed);
  bool passes_way(const Team& team, std::size_t next, std::size_t cut);
  void add(std::vector<Row>& rows, const Row& row) const;
  bool as_good(std::size_t a, std::size_t b) const;
  Seconds least_period(Seconds work, double work_a_second) const;
  std::size_t first_cut(std::size_t last, std::size_t team);
  Pipeline rebuild(std::size_t slot, std::size_t position) const;
  Seconds delay(const Team& team, std::size_t first, std::size_t last, const Team* next) const;

  const Problem& problem_;
  const std::vector<std::vector<std::size_t>>& kinds_;
  const StageCosts& costs_;
  std::vector<Team> teams_;
  std::vector<std::size_t> order_;      // states, those of fewer devices first
  std::vector<std::size_t> totals_;     // devices of each state
  std::vector<double> remaining_work_;  // of each state: what the other devices do in a second at most
  std::vector<double> team_work_;
  std::size_t lasts_ = 1;               // slots of a state: where ways matter, one for each team of the first stage
  std::vector<std::vector<Row>> rows_;  // of each slot
  Seconds period_ = 0;
  std::size_t least_ = 1;  // devices
  Seconds needed_ = 0;     // the least of the periods that were too long
};

}  // namespace mangrove::plan
