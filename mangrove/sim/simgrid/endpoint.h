#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/net/endpoint.h"
#include "mangrove/net/mailbox.h"
#include "mangrove/net/traffic_meter.h"
#include "mangrove/sim/simgrid/timeline.h"

namespace mangrove::sim {

/// A rank's endpoint in the simulated world: it waits in virtual time, and others run only while it does: send() leaves
/// a message behind for flush(). threads: actors of SimGrid.
class SimEndpoint final : public net::Endpoint {
 public:
  using Post = std::function<void(net::Rank to, net::Message message)>;

  using SizeOf = std::function<std::size_t(const net::Message&)>;

  using Handle = std::function<void(std::size_t bytes)>;

  /// post: brings a message on its way to the endpoint of its rank. size_of: its bytes. handle: takes the time that its
  /// process needs for so many bytes of messages.
  SimEndpoint(net::Rank rank, std::shared_ptr<const net::Members> members, Post post, SizeOf size_of, Handle handle);

  net::Rank rank() const override { return rank_; }
  int size() const override { return mailbox_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override;
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override;
  net::Members members() const override { return mailbox_.members(); }
  net::Traffic traffic() const override { return meter_.read(); }
  void cancel() override;
  /// What was sent goes on its way: before time passes. By the rank's own actor, as send() and recv().
  void flush();

  /// It has come.
  void deliver(net::Message message);
  void set_members(const std::shared_ptr<const net::Members>& members);

 private:
  using Found = std::optional<Result<net::Message>>;
  void wake();

  const net::Rank rank_;
  net::Mailbox mailbox_;  // asked for what is there already: it would wait in real time
  net::TrafficMeter meter_;
  const Post post_;
  const SizeOf size_of_;
  const Handle handle_;
  VirtualClock clock_;
  std::deque<std::pair<net::Rank, net::Message>> outbox_;
  std::size_t unhandled_ = 0;                // bytes that were received: their time passes when time may
  const net::RankSet* waits_for_ = nullptr;  // while it waits
  simgrid::s4u::MutexPtr mutex_;             // taken by the one who waits only; see Timeline
  simgrid::s4u::ConditionVariablePtr changed_;
};

}  // namespace mangrove::sim
