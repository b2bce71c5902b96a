#pragma once

#include <deque>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// Where the messages to one rank wait, with the membership that decides how a wait ends. Every real-time Endpoint
/// receives through one.
/// threads: any thread may call any method.
class Mailbox {
 public:
  explicit Mailbox(Members members);

  void deliver(Message message);   // dropped after cancel(), or if it comes from a rank that is gone
  Result<Message> recv(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline);
  void set_members(Members members);
  Members members() const;
  void cancel();

 private:
  SteadyClock clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Message> waiting_ MG_GUARDED_BY(mutex_);
  Members members_ MG_GUARDED_BY(mutex_);
  bool cancelled_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::net
