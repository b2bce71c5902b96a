#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"

namespace mangrove::infer {

/// Which numbered micro-batches are on their way through the stages since when, and which of them are to be sent again.
///
/// They are no job::Requests. Those are put to one rank, which is silent while its oldest question has no answer. A
/// micro-batch is put to all ranks of its route: if it does not come back, none of them can be blamed for it, and
/// others that are older may be well. So each has a time limit of its own. And its number stays the same when it is
/// sent again, as the first answer counts, whichever sending it belongs to. No input or output; threads: one at a time.
class InFlight {
 public:
  void sent(std::uint64_t id, Instant now) { sent_at_[id] = now; }
  /// It has its answer, wherever it was.
  void remove(std::uint64_t id);
  /// One that is to be sent again, and not any more. Nothing: there is none.
  std::optional<std::uint64_t> next_again();

  /// All are to be sent again, the oldest first.
  void resend_all();
  /// Those that were sent longer than `timeout` ago are to be sent again. Returns them.
  std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout);

  std::size_t size() const { return sent_at_.size(); }  // without those that are to be sent again

 private:
  std::map<std::uint64_t, Instant> sent_at_;
  std::deque<std::uint64_t> again_;
};

}  // namespace mangrove::infer
