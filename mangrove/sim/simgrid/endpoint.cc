#include "mangrove/sim/simgrid/endpoint.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

namespace mangrove::sim {

namespace s4u = simgrid::s4u;

SimEndpoint::SimEndpoint(net::Rank rank, std::shared_ptr<const net::Members> members, Post post, SizeOf size_of,
                         Handle handle)
    : rank_(rank),
      mailbox_(rank, std::move(members)),
      post_(std::move(post)),
      size_of_(std::move(size_of)),
      handle_(std::move(handle)),
      mutex_(s4u::Mutex::create()),
      changed_(s4u::ConditionVariable::create()) {}

void SimEndpoint::send(net::Rank to, net::Tag tag, std::string payload) {
  MG_CHECK_MSG(to >= 0 && to < size(), "rank " + std::to_string(to) + " of " + std::to_string(size()));
  net::Message message{rank_, tag, std::move(payload)};
  meter_.sent(to, tag, size_of_(message));
  if (to == rank_) return post_(to, std::move(message));
  outbox_.emplace_back(to, std::move(message));
}

void SimEndpoint::flush() {
  if (const std::size_t received = std::exchange(unhandled_, 0); received > 0) handle_(received);
  while (!outbox_.empty()) {
    auto [to, message] = std::move(outbox_.front());
    outbox_.pop_front();
    handle_(size_of_(message));
    post_(to, std::move(message));
  }
}

Result<net::Message> SimEndpoint::recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                           Deadline deadline) {
  Found found = mailbox_.poll(from, tags);
  if (!found && deadline - clock_.now() > 0) {
    flush();
    const std::unique_lock<s4u::Mutex> lock(*mutex_);
    // others ran meanwhile
    for (found = mailbox_.poll(from, tags); !found; found = mailbox_.poll(from, tags)) {
      const Seconds left = deadline - clock_.now();
      if (left <= 0) break;
      waits_for_ = &from;
      if (std::isinf(left)) {
        changed_->wait(lock);
      } else {
        changed_->wait_for(lock, left + kPrecision);  // who waits until then must find that it is past
      }
      waits_for_ = nullptr;
    }
  }
  if (!found) return mailbox_.recv(from, tags, Deadline{});
  if (found->ok()) unhandled_ += size_of_(**found);
  return *std::move(found);
}

void SimEndpoint::deliver(net::Message message) {
  meter_.received(message.from, message.tag, size_of_(message));
  mailbox_.deliver(std::move(message));
  wake();
}

void SimEndpoint::set_members(const std::shared_ptr<const net::Members>& members) {
  mailbox_.set_members(members);
  const auto is_gone = [&](net::Rank rank) { return !members->alive(rank); };  // any rank, as a number, is none
  if (waits_for_ != nullptr && std::any_of(waits_for_->begin(), waits_for_->end(), is_gone)) wake();
}

void SimEndpoint::cancel() {
  mailbox_.cancel();
  wake();
}

void SimEndpoint::wake() {
  if (waits_for_ != nullptr) changed_->notify_all();
}

}  // namespace mangrove::sim
