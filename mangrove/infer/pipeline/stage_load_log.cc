#include "mangrove/infer/pipeline/stage_load_log.h"

#include <utility>

#include "mangrove/infer/pipeline/report.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kLinesBeforeHalf = 200;
// Of those that are dropped because their deadline has passed, nobody tells.
constexpr std::size_t kMostInFlight = 10'000;

}  // namespace

void StageLoadLog::sent(std::uint64_t micro_batch, Instant now) {
  if (sent_.size() < kMostInFlight) sent_.try_emplace(micro_batch, now);
}

void StageLoadLog::answered(std::uint64_t micro_batch, const Trace& trace, Instant now) {
  const auto sent = sent_.find(micro_batch);
  latencies_ += sent == sent_.end() ? 0 : now - sent->second;
  ++micro_batches_;
  forget(micro_batch);
  for (int at = 0; at < trace.ranks_size(); ++at) {
    Load& load = loads_[{at, trace.ranks(at)}];
    load.busy += trace.seconds(at);
    load.queued += trace.queued(at);
    ++load.micro_batches;
  }
  if (now - told_ >= interval_) tell(now);
}

void StageLoadLog::tell(Instant now) {
  StageLoad line{.at = now - start_,
                 .micro_batches = micro_batches_,
                 .latency = latencies_ / static_cast<double>(micro_batches_),
                 .stages = {}};
  for (const auto& [where, load] : loads_)
    line.stages.push_back({.stage = where.first,
                           .node = reports_.node(where.second),
                           .utilisation = load.busy / (now - told_),
                           .queue = static_cast<double>(load.queued) / static_cast<double>(load.micro_batches)});
  reports_.line(line);
  loads_.clear();
  micro_batches_ = 0;
  latencies_ = 0;
  told_ = now;
  if (++lines_ % kLinesBeforeHalf == 0) interval_ *= 2;
}

}  // namespace mangrove::infer
