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

/// Finds pipelines that keep a given period: every stage is done with a micro-batch within it. The search is a dynamic
/// program from the last stage to the first. A state is a choice of devices. For each state it keeps the cuts at which
/// a row of stages on just these devices can begin. It drops a cut if another one is as good. Exact. cost: choices of
/// devices x teams (sets of devices of one stage) x cuts, where no cut is as good as another.
/// threads: one at a time.
class PipelineSearch {
 public:
  /// costs: must outlive it. teams: the teams that a stage may have.
  PipelineSearch(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds, const StageCosts& costs,
                 std::vector<Team> teams);

  /// The team of each stage, and the cuts before, between and behind the stages.
  struct Pipeline {
    std::vector<std::size_t> teams;
    std::vector<std::size_t> cuts;
  };
  /// A pipeline with the fewest devices that keeps the period and fits the devices' memory. Nothing: there is none.
  std::optional<Pipeline> find(Seconds period, const DeviceRange& range);
  /// After find() has found nothing: no pipeline with the same range keeps a period shorter than this one.
  Seconds least_possible() const { return needed_; }
  /// The same teams with other cuts: those that keep the period and give the shortest latency.
  Pipeline soonest(Pipeline pipeline, Seconds period);
  /// The pipeline with devices by their numbers. Of each kind the first devices are used.
  std::vector<Part> parts(const Pipeline& pipeline) const;

 private:
  /// A row of stages up to the end of the pipeline, by its first stage.
  struct Row {
    std::uint32_t cut;   // the cut at which it begins
    std::uint32_t team;  // the team of its first stage
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
  std::vector<std::size_t> order_;      // states, the one with the fewest devices first
  std::vector<std::size_t> totals_;     // devices of each state
  std::vector<double> remaining_work_;  // by state: the most work that the other devices can do in a second
  std::vector<double> team_work_;
  std::size_t lasts_ = 1;               // slots of a state; if ways matter, one for each team of the first stage
  std::vector<std::vector<Row>> rows_;  // of each slot
  Seconds period_ = 0;
  std::size_t least_ = 1;  // devices
  Seconds needed_ = 0;     // the shortest of the needed periods that were too long
};

}  // namespace mangrove::plan
