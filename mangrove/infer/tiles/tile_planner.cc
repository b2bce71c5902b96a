#include "mangrove/infer/tiles/tile_planner.h"

#include <algorithm>

#include "mangrove/base/median.h"
#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/memory_besides.h"
#include "mangrove/infer/pipeline/stage_plan.h"
#include "mangrove/infer/tiles/objective.h"
#include "mangrove/plan/tile_partitioner.h"

namespace mangrove::infer {
namespace {

constexpr int kLongestBackoff = 64;  // rounds

/// spare: memory that is needed besides tiles.
plan::TileDevice device_of(const DeviceProfile& profile, Bytes spare) {
  const bool beside = profile.reads_beside();  // a core is free for sending and receiving
  return {.name = profile.name,
          .seconds = profile.operator_seconds,
          .memory = profile.memory,
          .reserved = profile.needed + spare,
          .rate = profile.rate,
          .delay = profile.round_trip / 4,
          .byte_seconds = 1 / kCutBytesPerSecond + (beside ? 0 : profile.byte_seconds),
          .message_seconds = beside ? 0 : profile.message_seconds};
}

}  // namespace

net::RankSet TileTeams::members(const plan::TilePlan& team) const {
  net::RankSet found;
  for (const std::size_t device : team.devices()) found.push_back(rank(device));
  std::ranges::sort(found);
  return found;
}

net::RankSet TileTeams::members() const {
  net::RankSet all;
  for (const plan::TilePlan& team : teams) {
    const net::RankSet some = members(team);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all);
  return all;
}

double TileTeams::rate() const {
  double sum = 0;
  for (const plan::TilePlan& team : teams) sum += team.period > 0 ? 1 / team.period : 0;
  return sum;
}

TilePlanner::TilePlanner(const Graph& graph, std::vector<DeviceProfile> measured, const InferJob& job)
    : graph_(graph),
      micro_batch_(job.micro_batch()),
      activations_(job.activations()),
      tiling_(job.tiling()),
      objective_(objective_of(job)),
      devices_(std::move(measured)) {}

plan::TileProblem TilePlanner::problem(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) const {
  plan::TileProblem problem{.graph = graph_, .batch = micro_batch_, .devices = {}, .objective = objective_};
  problem.encoded = [name = activations_](std::int64_t elements) { return encoded_bytes(name, elements); };
  const Bytes spare = bytes_read(graph_, micro_batch_) + largest_weight(graph_);
  for (const net::Rank rank : ranks) problem.devices.push_back(device_of(profile_of(measured, rank), spare));
  for (const DeviceProfile& profile : measured)
    if (problem.weights.empty()) problem.weights = profile.operator_weights;
  return problem;
}

Result<TileTeams> TilePlanner::plan_for(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) const {
  MG_TRY(const plan::TilePartitioner* tiling, plan::find_tile_partitioner(tiling_));
  MG_TRY(std::vector<plan::TilePlan> teams, tiling->plan(problem(measured, ranks)));
  return TileTeams{std::move(teams), ranks};
}

Result<TileTeams> TilePlanner::plan(const net::RankSet& ranks) const {
  return plan_for(devices_, ranks);
}

void TilePlanner::begin() {
  round_.clear();
  factors_.clear();
  rounds_to_wait_ = 0;
  backoff_ = 1;
}

/// Work for samples and for blocks together: how a device shares it between them does not matter.
void TilePlanner::add(const TileTeams& teams, std::span<const TileTrace* const> traces) {
  std::map<net::Rank, Seconds> taken, predicted;
  for (const TileTrace* trace : traces) taken[trace->rank()] += trace->seconds();
  for (const plan::TilePlan& team : teams.teams) {
    const DeviceProfile source = profile_of(devices_, teams.rank(team.source));
    if (!source.reads_beside()) predicted[source.rank] += source.read_seconds;
    for (const plan::TileBlock& block : team.blocks)
      for (const plan::TilePart& part : block.parts) predicted[teams.rank(part.device)] += part.busy;
  }
  for (const auto& [rank, seconds] : taken) {
    std::vector<double>& round = round_[rank];
    if (predicted[rank] > 0 && round.size() < kRound) round.push_back(seconds / predicted[rank]);
  }
}

double TilePlanner::goodness(const TileTeams& teams) const {
  if (objective_ == plan::Objective::throughput) return teams.rate();
  return teams.teams.front().latency > 0 ? 1 / teams.teams.front().latency : 0;
}

/// Whether a device has drifted in this round and the one before.
bool TilePlanner::rescale(const Factors& factors, std::vector<DeviceProfile>& devices) const {
  bool has_drifted = false;
  for (const auto& [rank, factor] : factors) {
    const auto before = factors_.find(rank);
    if (before == factors_.end() || factor <= 0 || !plan::drift_persists(before->second, factor)) continue;
    has_drifted = true;
    profile_among(devices, rank).scale(factor);
  }
  return has_drifted;
}

/// By these figures.
std::optional<TileTeams> TilePlanner::better(const TileTeams& teams, const net::RankSet& ranks,
                                             const std::vector<DeviceProfile>& now) const {
  Result<TileTeams> other = plan_for(now, ranks);
  if (!other.ok()) return std::nullopt;
  const plan::TileProblem as_it_is = problem(now, teams.ranks);
  TileTeams same = teams;
  for (plan::TilePlan& team : same.teams) {
    Result<plan::TilePlan> priced = plan::price_tiles(as_it_is, team.source, team.blocks);
    if (!priced.ok()) return std::nullopt;
    team = std::move(*priced);
  }
  if (goodness(*other) < kSpeedup * goodness(same)) return std::nullopt;
  return std::move(*other);
}

std::optional<TileTeams> TilePlanner::revise(const TileTeams& teams, const net::RankSet& ranks,
                                             std::optional<std::int64_t> left) {
  if (std::ranges::none_of(round_, [](const auto& of_rank) { return of_rank.second.size() >= kRound; }))
    return std::nullopt;
  Factors factors;
  for (const auto& [rank, work] : round_)
    if (work.size() >= kRound) factors[rank] = median(work);
  round_.clear();
  std::vector<DeviceProfile> now = devices_;
  const bool has_drifted = rescale(factors, now);
  factors_ = std::move(factors);
  if (!has_drifted || rounds_to_wait_-- > 0 || (left && *left <= kRound)) return std::nullopt;
  std::optional<TileTeams> plan = better(teams, ranks, now);
  if (plan) {
    devices_ = std::move(now);
  } else {
    backoff_ = std::min(2 * backoff_, kLongestBackoff);
    rounds_to_wait_ = backoff_;
  }
  return plan;
}

}  // namespace mangrove::infer
