#include "tests/net/world.h"

#include <deque>

#include "tests/net/grpc_process.h"

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

/// Every rank is a process of its own as far as net can see.
class GrpcWorld final : public World {
 public:
  GrpcWorld(int size, bool is_encrypted) : members_(all_alive(size)) {
    for (const Member& member : members_.all)
      processes_.emplace_back(is_encrypted ? test_credentials(identity::Role::node, member.name) : nullptr);
    std::map<Rank, std::string> addresses;
    for (Rank rank = 0; rank < size; ++rank) addresses[rank] = processes_[static_cast<std::size_t>(rank)].address();
    for (Rank rank = 0; rank < size; ++rank) {
      endpoints_.push_back(join(processes_[static_cast<std::size_t>(rank)], "job", rank, addresses,
                                is_encrypted ? subjects_of(members_) : Subjects()));
    }
  }
  Endpoint& endpoint(Rank rank) override { return *endpoints_.at(static_cast<std::size_t>(rank)); }
  void kill(Rank rank) override {
    const auto index = static_cast<std::size_t>(rank);
    endpoints_[index]->cancel();
    processes_[index].transport().shutdown(0);
    processes_[index].stop_server();
    members_.all[index].alive = false;
    ++members_.version;
    for (std::size_t other = 0; other < processes_.size(); ++other) {
      if (other != index) processes_[other].transport().set_members("job", members_);
    }
  }

 private:
  Members members_;
  std::deque<GrpcProcess> processes_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace

const std::vector<WorldKind>& world_kinds() {
  static const std::vector<WorldKind> kinds = {
      {"in_process", [](int size) -> std::unique_ptr<World> { return std::make_unique<ThreadWorld>(size); }},
      {"grpc", [](int size) -> std::unique_ptr<World> { return std::make_unique<GrpcWorld>(size, false); }},
      {"grpc_tls", [](int size) -> std::unique_ptr<World> { return std::make_unique<GrpcWorld>(size, true); }},
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
