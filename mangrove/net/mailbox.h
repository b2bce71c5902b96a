#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/net/waiting_room.h"

namespace mangrove::net {

/// Where the messages to one rank wait, with the membership that decides how a wait ends. Every real-time Endpoint
/// receives through one.
/// threads: any thread may call any method.
class Mailbox {
 public:
  /// Members are shared if many endpoints are in one process. clock: of the Deadlines of recv(). room: bounds the bytes
  /// of messages that wait here; null: they are not bounded.
  Mailbox(Rank owner, std::shared_ptr<const Members> members,
          std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>(),
          std::shared_ptr<WaitingRoom> room = nullptr);
  Mailbox(Rank owner, Members members) : Mailbox(owner, std::make_shared<const Members>(std::move(members))) {}
  ~Mailbox();

  /// The message is dropped after cancel(), and if it comes from a rank that is gone. False: it was dropped because too
  /// many bytes wait unread, of its sender or of all senders.
  bool deliver(Message message);
  /// As Endpoint::recv_any(). cost: O(tags * ranks in `from` * log of the (tag, sender) pairs that wait), however many
  /// messages wait; of ascending ranks no more than O(pairs * log of the ranks) to find one.
  Result<Message> recv(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline);
  /// What recv() would return at once; nothing: it would wait.
  std::optional<Result<Message>> poll(const RankSet& from, const std::vector<Tag>& tags);
  void set_members(std::shared_ptr<const Members> members);  // ignored if it is older than what is known
  void set_members(Members members) { set_members(std::make_shared<const Members>(std::move(members))); }
  Members members() const;
  bool alive(Rank rank) const;
  int size() const;  // of the job, ranks that are gone included
  void cancel();

 private:
  struct Waiting {
    std::uint64_t order;  // of arrival
    Message message;
  };
  void clear() MG_REQUIRES(mutex_);
  using Senders = std::map<Rank, std::deque<Waiting>>;  // no deque is empty

  std::optional<Result<Message>> outcome(const RankSet& from, const std::vector<Tag>& tags) MG_REQUIRES(mutex_);
  std::optional<Message> take(const RankSet& from, const std::vector<Tag>& tags) MG_REQUIRES(mutex_);
  /// Why no message from the set can come any more, if so.
  std::optional<Error> gone(const RankSet& from) const MG_REQUIRES(mutex_);

  const Rank owner_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<WaitingRoom> room_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<Tag, Senders> waiting_ MG_GUARDED_BY(mutex_);       // no map of senders is empty
  std::map<Rank, Bytes> waiting_bytes_ MG_GUARDED_BY(mutex_);  // by sender; empty without a room
  std::uint64_t arrived_ MG_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const Members> members_ MG_GUARDED_BY(mutex_);
  bool cancelled_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::net
