#include "mangrove/plan/tile_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "mangrove/base/format.h"
#include "mangrove/plan/planner.h"
#include "mangrove/plan/tile_partitioner.h"

namespace mangrove::plan {
namespace {

constexpr double kAlike = 0.005;  // figures that differ by less, as a share, are called equal
constexpr double kMostly = 0.5;   // more work is why a plan is slower, if it is at least this share of the difference

double rate_of(Seconds period) {
  return period > 0 ? 1 / period : 0;
}

TileAlternative of_teams(std::string_view name, const std::vector<TilePlan>& teams) {
  TileAlternative made{.name = std::string(name), .limiting = teams.front().limiting};
  for (const TilePlan& team : teams) made.rate += rate_of(team.period);
  std::set<std::size_t> devices;
  double sent = 0;
  for (const TilePlan& team : teams) {
    const double share = made.rate > 0 ? rate_of(team.period) / made.rate : 1 / static_cast<double>(teams.size());
    made.work += share * (team.work - 1);
    sent += share * static_cast<double>(team.sent);
    made.latency = std::max(made.latency, team.latency);
    for (const Bytes memory : team.memory) made.memory = std::max(made.memory, memory);
    for (const std::size_t device : team.devices()) devices.insert(device);
  }
  made.devices = devices.size();
  made.sent = std::llround(sent);
  return made;
}

TileAlternative one_board(const TileProblem& problem) {
  std::optional<TilePlan> best;
  std::string why_not;
  for (std::size_t device = 0; device < problem.devices.size(); ++device) {
    Result<TilePlan> plan = price_tiles(problem, device, {{0, problem.graph.nodes().size(), {{device, {}}}}});
    if (!plan.ok()) why_not = plan.error().message;
    if (plan.ok() && (!best || plan->latency < best->latency)) best = std::move(*plan);
  }
  if (!best) return {.name = std::string(kOneBoard), .why_not = why_not};
  return of_teams(kOneBoard, {*best});
}

TileAlternative best_pipeline(const Problem& problem) {
  TileAlternative made{.name = std::string(kPipeline)};
  const Result<Plan> plan = make_plan(problem);
  if (!plan.ok()) {
    made.why_not = plan.error().message;
    return made;
  }
  made.devices = plan->devices();
  made.latency = plan->latency;
  made.rate = rate_of(plan->period);
  made.limiting = plan->limiting;
  for (const Stage& stage : plan->stages) {
    made.memory = std::max(made.memory, stage.memory);
    made.sent += stage.sent;
  }
  return made;
}

/// Why tiles of another partitioner are slower. times: as slow as what was chosen.
std::string cause(const TileAlternative& tiles, const TileAlternative& chosen, double times) {
  const bool is_computing = tiles.limiting.starts_with("computing");  // see TilePlan::limiting
  if (is_computing && tiles.work / chosen.work - 1 > kMostly * (times - 1))
    return fmt::format(": it computes {} times the network's work", format_number(tiles.work));
  const std::string sent = is_computing ? "" : fmt::format("sends {}, and ", format_bytes(tiles.sent));
  return fmt::format(": it {}is limited by {}", sent, tiles.limiting);
}

/// How alternatives differ from the one that was chosen, as clauses behind their names.
class Reasons {
 public:
  Reasons(const TileAlternative& chosen, const TileAlternative& one_board, Objective objective)
      : chosen_(chosen), one_board_(one_board), is_latency_(objective == Objective::latency) {}

  std::string why_it_lost(const TileAlternative& other) const {
    const double goodness = goodness_against(other, chosen_);
    if (std::abs(goodness - 1) < kAlike) return no_better_than(chosen_);
    const double ratio = is_latency_ ? 1 / goodness : goodness;
    const std::string ratio_text =
        fmt::format("{} {} times as {} as {}", is_latency_ ? "takes" : "answers", format_number(ratio),
                    is_latency_ ? "long" : "many samples", chosen_.name);
    if (goodness > 1) return ratio_text + ": the search for tiles does not try everything";
    if (other.name == kOneBoard) return ratio_text;
    if (other.name != kPipeline) return ratio_text + cause(other, chosen_, 1 / goodness);
    const bool is_useful = !one_board_.why_not.empty() || goodness_against(other, one_board_) > 1 + kAlike;
    return is_useful ? ratio_text : fmt::format("{}: it {}", ratio_text, no_better_than(one_board_));
  }

 private:
  /// Above 1: better. Of what takes no time: 1.
  double goodness_against(const TileAlternative& one, const TileAlternative& other) const {
    const double goodness = is_latency_ ? other.latency / one.latency : one.rate / other.rate;
    return std::isfinite(goodness) && goodness > 0 ? goodness : 1;
  }
  std::string no_better_than(const TileAlternative& other) const {
    return fmt::format("{} than {}", is_latency_ ? "answers no sample sooner" : "answers no more samples", other.name);
  }

  const TileAlternative& chosen_;
  const TileAlternative& one_board_;
  const bool is_latency_;
};

}  // namespace

std::vector<TileAlternative> tile_alternatives(const TileProblem& tiles, const Problem& pipeline,
                                               const std::vector<TilePlan>& chosen) {
  std::vector<TileAlternative> all = {one_board(tiles), best_pipeline(pipeline)};
  const TilePartitioner& first = tile_partitioners().front();
  for (const TilePartitioner& row : tile_partitioners()) {
    const Result<std::vector<TilePlan>> teams = row.name == first.name ? chosen : row.plan(tiles);
    all.push_back(teams.ok() ? of_teams(row.name, *teams)
                             : TileAlternative{.name = std::string(row.name), .why_not = teams.error().message});
  }
  const Reasons reasons(*std::ranges::find(all, first.name, &TileAlternative::name), all.front(), tiles.objective);
  for (TileAlternative& other : all)
    if (other.name != first.name && other.why_not.empty()) other.why_it_lost = reasons.why_it_lost(other);
  return all;
}

}  // namespace mangrove::plan
