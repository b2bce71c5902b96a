#include "mangrove/sim/simgrid/timeline.h"

#include <utility>

namespace mangrove::sim {

namespace s4u = simgrid::s4u;

Timeline::Timeline() : mutex_(s4u::Mutex::create()), changed_(s4u::ConditionVariable::create()) {}

Timeline::~Timeline() {
  lock_.release();
}

void Timeline::start(s4u::Host* host) {
  s4u::Actor::create("timeline", host, [this] { run(); })->daemonize();
}

void Timeline::at(Instant when, std::function<void()> action) {
  const bool is_next = to_come_.empty() || when < to_come_.begin()->first;
  to_come_.emplace(when, std::move(action));
  if (is_next) changed_->notify_one();
}

void Timeline::run() {
  lock_ = std::unique_lock<s4u::Mutex>(*mutex_);
  while (true) {
    while (!to_come_.empty() && to_come_.begin()->first - clock_.now() <= kPrecision) {
      const auto action = std::move(to_come_.begin()->second);
      to_come_.erase(to_come_.begin());
      action();
    }
    if (to_come_.empty()) {
      changed_->wait(lock_);
    } else {
      changed_->wait_for(lock_, to_come_.begin()->first - clock_.now());
    }
  }
}

}  // namespace mangrove::sim
