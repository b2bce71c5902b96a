#include "mangrove/sim/endpoint.h"

#include <cmath>
#include <mutex>
#include <utility>

namespace mangrove::sim {

namespace s4u = simgrid::s4u;

SimEndpoint::SimEndpoint(net::Rank rank, const net::Members& members, Post post)
    : rank_(rank),
      mailbox_(rank, members),
      post_(std::move(post)),
      mutex_(s4u::Mutex::create()),
      changed_(s4u::ConditionVariable::create()) {}

void SimEndpoint::send(net::Rank to, net::Tag tag, std::string payload) {
  MG_CHECK_MSG(to >= 0 && to < size(), "rank " + std::to_string(to) + " of " + std::to_string(size()));
  meter_.sent(to, tag, payload.size());
  post_(to, {rank_, tag, std::move(payload)});
}

Result<net::Message> SimEndpoint::recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                           Deadline deadline) {
  const auto look = [&] { return mailbox_.recv(from, tags, Deadline{}); };
  Result<net::Message> message = look();
  const auto is_silent = [&] { return !message.ok() && message.code() == Code::deadline_exceeded; };
  if (!is_silent() || deadline - clock_.now() <= kPrecision) return message;
  const std::unique_lock<s4u::Mutex> lock(*mutex_);
  // taking the lock let others run
  for (message = look(); is_silent(); message = look()) {
    const Seconds left = deadline - clock_.now();
    if (left <= kPrecision) break;
    is_waiting_ = true;
    if (std::isinf(left)) {
      changed_->wait(lock);
    } else {
      changed_->wait_for(lock, left);
    }
    is_waiting_ = false;
  }
  return message;
}

void SimEndpoint::deliver(net::Message message) {
  meter_.received(message.from, message.tag, message.payload.size());
  mailbox_.deliver(std::move(message));
  wake();
}

void SimEndpoint::set_members(const net::Members& members) {
  mailbox_.set_members(members);
  wake();
}

void SimEndpoint::cancel() {
  mailbox_.cancel();
  wake();
}

void SimEndpoint::wake() {
  if (is_waiting_) changed_->notify_all();
}

}  // namespace mangrove::sim
