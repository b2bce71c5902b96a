#include "mangrove/job/worker_loop.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/log.h"

namespace mangrove::job {
namespace {

constexpr Seconds kWait = 5;  // for an order; then the worker waits again, as long as rank 0 is alive

}  // namespace

WorkerLoop::WorkerLoop(RoleContext& context, net::Tag orders, std::vector<net::Tag> from_peers)
    : context_(context), orders_(orders), tags_(std::move(from_peers)) {
  tags_.push_back(orders);
}

Status WorkerLoop::run() {
  failure_ = prepare();
  if (!ended_) say_hello(failure_);
  while (!ended_) {
    MG_RETURN_IF_ERROR(listen());
    if (!ended_ && failure_.ok()) count_in(work());
  }
  return failure_.ok() || failure_.code() == Code::cancelled ? Status() : failure_;
}

/// Takes all that has come, and waits for more until there is work to do.
Status WorkerLoop::listen() {
  while (!ended_) {
    if (const std::optional<net::Message> postponed = next_postponed()) {
      follow(*postponed);
      continue;
    }
    Result<net::Message> message = receive(listen_until());
    if (message.ok() && message->tag == orders_) {
      follow(*message);
    } else if (message.ok()) {
      if (failure_.ok()) take(std::move(*message));
    } else if (message.code() == Code::deadline_exceeded) {
      break;
    } else if (message.code() != Code::unavailable || !context_.endpoint.members().alive(0)) {
      return message.error().context("rank 0");
    }
  }
  return {};
}

Deadline WorkerLoop::listen_until() const {
  const Instant now = context_.clock.now();
  return failure_.ok() ? std::clamp(due(), now, now + kWait) : now + kWait;
}

Result<net::Message> WorkerLoop::receive(Deadline deadline) {
  if (tags_.size() == 1) return context_.endpoint.recv({0}, orders_, deadline);
  net::RankSet from = context_.endpoint.members().alive_ranks();
  if (std::ranges::find(from, 0) == from.end()) from.push_back(0);  // gone: recv says so when it has said all it sent
  return context_.endpoint.recv_any(from, tags_, deadline);
}

void WorkerLoop::follow(const net::Message& message) {
  const Order order = message.from == 0 ? read(message) : Order();
  switch (order.kind) {
    case Order::unreadable:
      log_warn("an order cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
      return;
    case Order::end:
      return end();
    case Order::ping:
      return say_hello(failure_);
    case Order::work:
      if (!failure_.ok()) return say_hello(failure_);
      return count_in(order.follow());
  }
}

/// Of a piece of work. After a failure the worker says once that it cannot take part, and again when it is asked.
void WorkerLoop::count_in(Status status) {
  if (status.ok()) return;
  failure_ = std::move(status);
  if (!ended_) say_hello(failure_);
}

}  // namespace mangrove::job
