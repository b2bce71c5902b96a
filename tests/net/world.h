#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::net {

constexpr Seconds kSoon = 30;  // far more than any wait that should succeed takes
constexpr Seconds kShort = 0.05;

/// P ranks in this process, over one implementation of Endpoint.
class World {
 public:
  virtual ~World() = default;
  virtual Endpoint& endpoint(Rank rank) = 0;
  /// The rank ends without a word, and the failure detector of all others says so.
  virtual void kill(Rank rank) = 0;
};

struct WorldKind {
  const char* name;
  std::unique_ptr<World> (*make)(int size);
};

/// Every implementation of Endpoint that has to behave the same.
const std::vector<WorldKind>& world_kinds();

Deadline soon();
Members all_alive(int size);

/// The payload of the next message, or "error: " and what went wrong.
std::string receive(Endpoint& endpoint, const RankSet& from, Tag tag);
/// The name of the error that a recv ends with, or the payload of the message it brought.
std::string outcome(Endpoint& endpoint, const RankSet& from, Tag tag, Seconds timeout);

}  // namespace mangrove::net
