#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "mangrove/job/role.h"

namespace mangrove::job {

/// What every rank but 0 does in every job: it prepares itself, says hello, follows the orders of rank 0 until there
/// are no more, works on what they have left to do, and says so when it cannot take part any more. A kind of worker
/// derives from it, and says how orders are read and what they ask for.
/// threads: one at a time.
class WorkerLoop {
 public:
  /// errors: unavailable (rank 0 is gone), cancelled; why this worker could not take part, when the job has ended.
  Status run();

 protected:
  /// orders: the tag that rank 0 sends them with. from_peers: tags that go to take() instead, from any rank.
  WorkerLoop(RoleContext& context, net::Tag orders, std::vector<net::Tag> from_peers = {});
  ~WorkerLoop() = default;

  struct Order {
    enum Kind { unreadable, ping, end, work } kind = unreadable;
    std::function<Status()> follow = {};  // of `work`. errors: the worker cannot take part any more
  };

  /// Done once, before the worker says hello. errors: it cannot take part.
  virtual Status prepare() = 0;
  /// Tells rank 0 what this worker has, or why it cannot take part.
  virtual void say_hello(const Status& status) = 0;
  /// The message lives until its order has been followed.
  virtual Order read(const net::Message& message) = 0;
  /// An order that came while another one was followed.
  virtual std::optional<net::Message> next_postponed() { return std::nullopt; }
  /// A message of a peer. It is not called once the worker cannot take part.
  virtual void take(net::Message) {}

  /// When work() has something to do next.
  virtual Instant due() const { return Instant::never(); }
  /// Does one piece of what orders have left to do, and nothing before it is due. errors: the worker cannot take part
  /// any more.
  virtual Status work() { return {}; }

  /// The job has ended.
  void end() { ended_ = true; }

  RoleContext& context_;

 private:
  Status listen();
  Deadline listen_until() const;
  Result<net::Message> receive(Deadline deadline);
  void follow(const net::Message& message);
  void count_in(Status status);

  const net::Tag orders_;
  std::vector<net::Tag> tags_;  // all that it listens to
  Status failure_;              // why this worker cannot take part
  bool ended_ = false;
};

}  // namespace mangrove::job
