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
  /// As kill -9 and its detection: messages to and from the rank are dropped, its own recv ends with cancelled, all
  /// others see it gone.
  void kill(Rank rank);
  /// Messages for which `lose` returns true vanish on the way. Called under a lock: be quick.
  void set_loss(std::function<bool(Rank from, Rank to, Tag tag)> lose);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::net
