#include "mangrove/infer/tiles/result.h"

#include <algorithm>
#include <set>

#include "mangrove/infer/pipeline/result.h"

namespace mangrove::infer {
namespace {

std::vector<std::int64_t> numbers_of(const Region& region) {
  if (region.is_empty()) return {};
  return {region.top, region.left, region.bottom, region.right};
}

Seconds mean_busy(const TileStreamResult& streamed, net::Rank rank, std::size_t step) {
  const auto found = streamed.records.find({rank, step});
  if (found == streamed.records.end()) return 0;
  return found->second.busy / std::max<double>(1, static_cast<double>(found->second.micro_batches));
}

TileTeamReport report_of(const plan::TilePlan& team, const TileStreamResult& streamed, const Graph& graph,
                         const Reports& reports) {
  TileTeamReport report{.source = reports.node(streamed.teams.rank(team.source)),
                        .predicted_latency = team.latency,
                        .predicted_period = team.period,
                        .work = team.work,
                        .sent_bytes = team.sent,
                        .limited_by = team.limiting,
                        .blocks = {}};
  for (std::size_t b = 0; b < team.blocks.size(); ++b) {
    const plan::TileBlock& block = team.blocks[b];
    TileBlockReport& of_block = report.blocks.emplace_back(TileBlockReport{.first = graph.nodes()[block.first].name,
                                                                           .last = graph.nodes()[block.last - 1].name,
                                                                           .operators = block.last - block.first,
                                                                           .tiles = {}});
    for (const plan::TilePart& part : block.parts) {
      const net::Rank rank = streamed.teams.rank(part.device);
      // the plan counts sending the samples as a part of the first block
      const Seconds samples = b == 0 && part.device == team.source ? mean_busy(streamed, rank, 0) : 0;
      of_block.tiles.push_back({.node = reports.node(rank),
                                .region = block.is_tiled() ? numbers_of(part.output) : std::vector<std::int64_t>(),
                                .busy = samples + mean_busy(streamed, rank, b + 1),
                                .predicted_busy = part.busy});
    }
  }
  return report;
}

/// The memory that a device's process was planned to take, with what the system can take back; 0: it has no tile.
Bytes planned_memory(const TileTeams& teams, const DeviceProfile& device) {
  Bytes most = 0;
  for (const plan::TilePlan& team : teams.teams)
    for (std::size_t i = 0; i < team.memory.size(); ++i)
      if (teams.rank(i) == device.rank) most = std::max(most, team.memory[i]);
  return most == 0 ? 0 : most + device.process - device.needed;
}

TileNodeReport report_of(const DeviceProfile& device, const std::string& name, const InferJob& job,
                         const TileStreamResult& streamed) {
  TileNodeReport report{.node = name,
                        .predicted_resident = planned_memory(streamed.teams, device),
                        .predicted_images_per_s = per_second(job.micro_batch(), device.single_seconds()),
                        .profile = device.was_kept ? "kept" : "measured",
                        .rate = device.rate,
                        .round_trip = device.round_trip};
  for (const auto& [by, record] : streamed.records) {
    if (by.first != device.rank) continue;
    report.micro_batches = std::max(report.micro_batches, record.micro_batches);
    report.busy += record.busy;
    report.sent_bytes += record.sent_bytes;
    report.resident = std::max(report.resident, record.resident);
  }
  report.utilisation = streamed.placed_seconds > 0 ? report.busy / streamed.placed_seconds : 0;
  return report;
}

}  // namespace

void set_tiles(const InferJob& job, const Graph& graph, const std::vector<DeviceProfile>& devices,
               const Baseline* baseline, const TileStreamResult& streamed, const Reports& reports,
               TilesResult& result) {
  result.repeated = streamed.repeated;
  result.window = tile_window(job, streamed.teams);
  result.predicted_latency = streamed.teams.teams.front().latency;
  result.predicted_images_per_s = streamed.teams.rate() * static_cast<double>(job.micro_batch());
  if (baseline != nullptr && result.all.images > 0) {
    const double micro_batches = static_cast<double>(result.all.images) / static_cast<double>(job.micro_batch());
    result.single_latency = baseline->seconds / micro_batches;
    if (result.latency.p50 > 0) result.latency_speedup = *result.single_latency / result.latency.p50;
  }
  Bytes sent = 0;
  for (const auto& [by, record] : streamed.records) sent += record.sent_bytes;
  set_activations(job, sent, result);
  for (const plan::TilePlan& team : streamed.teams.teams)
    result.teams.push_back(report_of(team, streamed, graph, reports));
  std::set<net::Rank> ranks(streamed.teams.ranks.begin(), streamed.teams.ranks.end());
  for (const DeviceProfile& device : devices) ranks.insert(device.rank);
  for (const net::Rank rank : ranks)
    result.tile_nodes.push_back(report_of(profile_of(devices, rank), reports.node(rank), job, streamed));
}

}  // namespace mangrove::infer
