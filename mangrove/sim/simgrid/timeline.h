#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <simgrid/s4u.hpp>

#include "mangrove/base/clock.h"

namespace mangrove::sim {

constexpr Seconds kPrecision = 1e-8;  // of SimGrid's time, with a margin: a wait may end so much early

/// The time of the simulated world, from 0 on. threads: actors of SimGrid, of which one runs at a time.
class VirtualClock final : public Clock {
 public:
  Instant now() const override { return {simgrid::s4u::Engine::get_clock()}; }
  void sleep_until(Instant instant) override { simgrid::s4u::this_actor::sleep_until(instant.seconds); }
};

/// What is to happen at given times, done by an actor of its own. threads: as VirtualClock.
class Timeline {
 public:
  Timeline();
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Begins to run on this host.
  void start(simgrid::s4u::Host* host);
  /// Equal times: in the order of asking. The action must not block.
  void at(Instant when, std::function<void()> action);

 private:
  void run();

  VirtualClock clock_;
  std::multimap<Instant, std::function<void()>> to_come_;
  // Only run() takes the mutex: actors are interrupted only where they call SimGrid, so nothing comes between its look
  // at what is to come and its wait.
  simgrid::s4u::MutexPtr mutex_;
  simgrid::s4u::ConditionVariablePtr changed_;
  std::unique_lock<simgrid::s4u::Mutex> lock_;  // never given back: an actor that is ended cannot call SimGrid any more
};

}  // namespace mangrove::sim
