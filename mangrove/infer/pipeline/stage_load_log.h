#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// Reports the load of a pipeline's stages now and then (`stage_load` in docs/json.md): every 0.1 s at first, later
/// less and less often. So a long run has not many more lines than a short one. No input or output: the caller tells
/// the time. threads: one at a time.
class StageLoadLog {
 public:
  explicit StageLoadLog(Reports& reports) : reports_(reports) {}

  /// The first micro-batch is about to be sent.
  void begin(Instant now) { start_ = told_ = now; }
  /// A micro-batch is sent to the first stage, for the first time or again.
  void sent(std::uint64_t micro_batch, Instant now);
  /// A micro-batch is answered. trace: checked by the caller.
  void answered(std::uint64_t micro_batch, const Trace& trace, Instant now);
  /// A micro-batch needs no answer any more.
  void forget(std::uint64_t micro_batch) { sent_.erase(micro_batch); }

 private:
  /// The load of one board of one stage since the last report.
  struct Load {
    Seconds busy = 0;
    std::int64_t micro_batches = 0, queued = 0;
  };
  void tell(Instant now);

  Reports& reports_;
  Instant start_, told_;
  Seconds interval_ = 0.1;
  std::int64_t lines_ = 0;
  std::map<std::uint64_t, Instant> sent_;            // when each micro-batch in flight was first sent
  std::map<std::pair<int, net::Rank>, Load> loads_;  // by stage and rank
  std::int64_t micro_batches_ = 0;                   // answered since the last report
  Seconds latencies_ = 0;                            // sum of their latencies
};

}  // namespace mangrove::infer
