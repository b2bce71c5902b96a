#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// Tells now and then how the stages of a pipeline do (`stage_load` in docs/json.md). At first every 0.1 s, later ever
/// less often, so that a long run tells not much more than a short one.
/// No input or output: time is told. threads: one at a time.
class StageLoadLog {
 public:
  explicit StageLoadLog(Reports& reports) : reports_(reports) {}

  /// The first micro-batch is about to be sent.
  void begin(Instant now) { start_ = told_ = now; }
  /// A micro-batch goes to the first stage, for the first time or again.
  void sent(std::uint64_t micro_batch, Instant now);
  /// It has an answer. trace: checked by the caller.
  void answered(std::uint64_t micro_batch, const Trace& trace, Instant now);
  /// It needs none any more.
  void forget(std::uint64_t micro_batch) { sent_.erase(micro_batch); }

 private:
  /// Of one board of one stage, since it was told last.
  struct Load {
    Seconds busy = 0;
    std::int64_t micro_batches = 0, queued = 0;
  };
  void tell(Instant now);

  Reports& reports_;
  Instant start_, told_;
  Seconds interval_ = 0.1;
  std::int64_t lines_ = 0;
  std::map<std::uint64_t, Instant> sent_;            // of those in flight, first
  std::map<std::pair<int, net::Rank>, Load> loads_;  // by stage and rank
  std::int64_t micro_batches_ = 0;                   // since it was told last
  Seconds latencies_ = 0;                            // of these, summed up
};

}  // namespace mangrove::infer
