#include "mangrove/net/in_process.h"

#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/net/mailbox.h"
#include "mangrove/net/traffic_meter.h"

namespace mangrove::net {
namespace {

/// Brings a message from one endpoint to the mailbox of another, or loses it.
using Post = std::function<void(Rank to, Message message)>;

class InProcessEndpoint final : public Endpoint {
 public:
  InProcessEndpoint(Rank rank, const Members& members, Post post)
      : rank_(rank), size_(static_cast<int>(members.all.size())), mailbox_(rank, members), post_(std::move(post)) {}

  Rank rank() const override { return rank_; }
  int size() const override { return size_; }
  Members members() const override { return mailbox_.members(); }
  Traffic traffic() const override { return meter_.read(); }
  void cancel() override { mailbox_.cancel(); }

  void send(Rank to, Tag tag, std::string payload) override {
    MG_CHECK_MSG(to >= 0 && to < size_, "rank " + std::to_string(to) + " of " + std::to_string(size_));
    meter_.sent(to, tag, payload.size());
    post_(to, {rank_, tag, std::move(payload)});
  }
  Result<Message> recv(const RankSet& from, Tag tag, Deadline deadline) override {
    return mailbox_.recv(from, {tag}, deadline);
  }
  Result<Message> recv_any(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline) override {
    return mailbox_.recv(from, tags, deadline);
  }

  void deliver(Message message) {
    meter_.received(message.from, message.tag, message.payload.size());
    mailbox_.deliver(std::move(message));
  }
  void set_members(const Members& members) { mailbox_.set_members(members); }

 private:
  const Rank rank_;
  const int size_;
  Mailbox mailbox_;
  const Post post_;
  TrafficMeter meter_;
};

Members everyone(int size) {
  Members members;
  for (Rank rank = 0; rank < size; ++rank) members.all.push_back({rank, "rank-" + std::to_string(rank), true});
  return members;
}

}  // namespace

struct InProcessWorld::Impl {
  Mutex mutex;  // before that of a mailbox
  Members members MG_GUARDED_BY(mutex);
  std::function<bool(Rank, Rank, Tag)> lose MG_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<InProcessEndpoint>> endpoints;  // fixed after construction

  /// Holds the lock while it delivers, so that nothing of a killed rank arrives after kill() has returned.
  void post(Rank to, Message message) {
    MutexLock lock(mutex);
    if (!members.alive(message.from) || !members.alive(to)) return;
    if (lose && lose(message.from, to, message.tag)) return;
    endpoints[static_cast<std::size_t>(to)]->deliver(std::move(message));
  }
};

InProcessWorld::InProcessWorld(int size) : impl_(std::make_unique<Impl>()) {
  impl_->members = everyone(size);
  for (Rank rank = 0; rank < size; ++rank) {
    impl_->endpoints.push_back(std::make_unique<InProcessEndpoint>(
        rank, impl_->members, [impl = impl_.get()](Rank to, Message message) { impl->post(to, std::move(message)); }));
  }
}

InProcessWorld::~InProcessWorld() = default;

Endpoint& InProcessWorld::endpoint(Rank rank) {
  return *impl_->endpoints.at(static_cast<std::size_t>(rank));
}

void InProcessWorld::kill(Rank rank) {
  MutexLock lock(impl_->mutex);
  impl_->members.all.at(static_cast<std::size_t>(rank)).alive = false;
  ++impl_->members.version;
  for (const auto& endpoint : impl_->endpoints) {
    if (endpoint->rank() == rank) {
      endpoint->cancel();
    } else {
      endpoint->set_members(impl_->members);
    }
  }
}

void InProcessWorld::set_loss(std::function<bool(Rank from, Rank to, Tag tag)> lose) {
  MutexLock lock(impl_->mutex);
  impl_->lose = std::move(lose);
}

}  // namespace mangrove::net
