#pragma once

#include <functional>
#include <memory>

#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// A world of P ranks in one process, for tests: messages go straight into the receiver's mailbox.
/// threads: any thread may call any method.
class InProcessWorld {
 public:
  explicit InProcessWorld(int size);
  ~InProcessWorld();

  /// Lives as long as the world.
  Endpoint& endpoint(Rank rank);
  /// A node joins the running job, with the next free rank, and everyone knows it.
  Rank join();
  /// As kill -9 and its detection: messages to and from the rank are dropped, its own recv ends with cancelled, all
  /// others see it gone.
  void kill(Rank rank);
  /// What becomes of a message on the way.
  enum class Fate {
    arrives,
    is_lost,
    arrives_twice,
    is_overtaken,  // by the next message of the same rank to the same rank; lost where there is none
  };
  /// Called for every message, under a lock: be quick.
  void set_fate(std::function<Fate(Rank from, Rank to, Tag tag)> fate);
  /// Those for which `lose` returns true are lost.
  void set_loss(std::function<bool(Rank from, Rank to, Tag tag)> lose);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::net
