#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// Where the messages to one rank wait, with the membership that decides how a wait ends. Every real-time Endpoint
/// receives through one.
/// threads: any thread may call any method.
class Mailbox {
 public:
  Mailbox(Rank owner, Members members);

  void deliver(Message message);  // dropped after cancel(), or if it comes from a rank that is gone
  /// As Endpoint::recv_any(). cost: O(tags * ranks in `from` * log of the (tag, sender) pairs that wait), however many
  /// messages wait.
  Result<Message> recv(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline);
  void set_members(Members members);  // ignored if it is older than what is known
  Members members() const;
  bool alive(Rank rank) const;
  int size() const;  // of the job, ranks that are gone included
  void cancel();

 private:
  struct Waiting {
    std::uint64_t order;  // of arrival
    Message message;
  };
  using Senders = std::map<Rank, std::deque<Waiting>>;  // no deque is empty

  std::optional<Message> take(const RankSet& from, const std::vector<Tag>& tags) MG_REQUIRES(mutex_);
  /// Why no message from the set can come any more, if so.
  std::optional<Error> gone(const RankSet& from) const MG_REQUIRES(mutex_);

  const Rank owner_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<Tag, Senders> waiting_ MG_GUARDED_BY(mutex_);  // no map of senders is empty
  std::uint64_t arrived_ MG_GUARDED_BY(mutex_) = 0;
  Members members_ MG_GUARDED_BY(mutex_);
  bool cancelled_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::net
