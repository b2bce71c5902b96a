#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"

namespace mangrove::infer {

/// Knows which numbered micro-batches are on their way through the stages, since when, and which must be sent again.
///
/// Micro-batches are no job::Requests. A request goes to one rank, which is silent while its oldest request has no
/// answer. A micro-batch goes to all ranks of its route. If it does not come back, none of them can be blamed, and
/// older micro-batches may still come back. So each micro-batch has a time limit of its own. It keeps its number when
/// it is sent again, and the first answer counts, whichever sending it belongs to.
///
/// No input or output: the caller tells the time and sends the messages. threads: one at a time.
class InFlight {
 public:
  void sent(std::uint64_t id, Instant now) { sent_at_[id] = now; }
  /// Its time limit begins anew. REQUIRES: it is on its way.
  void renew(std::uint64_t id, Instant now) { sent_at_.at(id) = now; }
  /// Forgets a micro-batch that has its answer, on its way or not.
  void remove(std::uint64_t id);
  /// Takes out the next micro-batch that must be sent again. Nothing: there is none.
  std::optional<std::uint64_t> next_again();

  /// Marks a micro-batch to be sent again that is not on its way.
  void send_again(std::uint64_t id) { again_.push_back(id); }
  /// Marks all of them to be sent again, the oldest first.
  void resend_all();
  /// Marks those that were sent longer than `timeout` ago to be sent again. Returns them.
  std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout);

  std::size_t size() const { return sent_at_.size(); }  // on their way, without those that must be sent again

 private:
  std::map<std::uint64_t, Instant> sent_at_;
  std::deque<std::uint64_t> again_;
};

}  // namespace mangrove::infer
