#include "world.h"

#include "mangrove/net/in_process.h"

namespace mangrove::net {
namespace {

class ThreadWorld final : public World {
 public:
  explicit ThreadWorld(int size) : world_(size) {}
  Endpoint& endpoint(Rank rank) override { return world_.endpoint(rank); }
  void kill(Rank rank) override { world_.kill(rank); }

 private:
  InProcessWorld world_;
};

}  // namespace

const std::vector<WorldKind>& world_kinds() {
  static const std::vector<WorldKind> kinds = {
      {"in_process", [](int size) -> std::unique_ptr<World> { return std::make_unique<ThreadWorld>(size); }},
  };
  return kinds;
}

Deadline soon() {
  return SteadyClock().after(kSoon);
}

Members all_alive(int size) {
  Members members;
  for (Rank rank = 0; rank < size; ++rank) members.all.push_back({rank, "rank-" + std::to_string(rank), true});
  return members;
}

std::string receive(Endpoint& endpoint, const RankSet& from, Tag tag) {
  Result<Message> message = endpoint.recv(from, tag, soon());
  return message.ok() ? std::move(message->payload) : "error: " + message.error().message;
}

std::string outcome(Endpoint& endpoint, const RankSet& from, Tag tag, Seconds timeout) {
  Result<Message> message = endpoint.recv(from, tag, SteadyClock().after(timeout));
  return message.ok() ? std::move(message->payload) : code_name(message.code());
}

}  // namespace mangrove::net
