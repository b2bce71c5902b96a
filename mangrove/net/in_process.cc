#include "mangrove/net/in_process.h"

#include <map>
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
      : rank_(rank), mailbox_(rank, members), post_(std::move(post)) {}

  Rank rank() const override { return rank_; }
  int size() const override { return mailbox_.size(); }
  Members members() const override { return mailbox_.members(); }
  Traffic traffic() const override { return meter_.read(); }
  void cancel() override { mailbox_.cancel(); }

  void send(Rank to, Tag tag, std::string payload) override {
    MG_CHECK_MSG(to >= 0 && to < size(), "rank " + std::to_string(to) + " of " + std::to_string(size()));
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
  Mailbox mailbox_;
  const Post post_;
  TrafficMeter meter_;
};

}  // namespace

struct InProcessWorld::Impl {
  Mutex mutex;  // before that of a mailbox
  Members members MG_GUARDED_BY(mutex);
  std::function<Fate(Rank, Rank, Tag)> fate MG_GUARDED_BY(mutex);
  std::map<std::pair<Rank, Rank>, Message> overtaken MG_GUARDED_BY(mutex);  // by sender and receiver
  std::vector<std::unique_ptr<InProcessEndpoint>> endpoints MG_GUARDED_BY(mutex);

  Rank add() MG_REQUIRES(mutex);
  void post(Rank to, Message message);
};

Rank InProcessWorld::Impl::add() {
  const auto rank = static_cast<Rank>(endpoints.size());
  members.all.push_back({rank, "rank-" + std::to_string(rank), true});
  ++members.version;
  endpoints.push_back(std::make_unique<InProcessEndpoint>(
      rank, members, [this](Rank to, Message message) { post(to, std::move(message)); }));
  for (const auto& endpoint : endpoints) endpoint->set_members(members);
  return rank;
}

/// Holds the lock while it delivers, so that nothing of a killed rank arrives after kill() has returned.
void InProcessWorld::Impl::post(Rank to, Message message) {
  MutexLock lock(mutex);
  if (!members.alive(message.from) || !members.alive(to)) return;
  const std::pair link(message.from, to);
  const Fate its = fate ? fate(message.from, to, message.tag) : Fate::arrives;
  if (its == Fate::is_lost) return;
  if (its == Fate::is_overtaken) {
    overtaken[link] = std::move(message);
    return;
  }
  InProcessEndpoint& receiver = *endpoints[static_cast<std::size_t>(to)];
  if (its == Fate::arrives_twice) receiver.deliver(message);
  receiver.deliver(std::move(message));
  if (const auto late = overtaken.find(link); late != overtaken.end()) {
    receiver.deliver(std::move(late->second));
    overtaken.erase(late);
  }
}

InProcessWorld::InProcessWorld(int size) : impl_(std::make_unique<Impl>()) {
  MutexLock lock(impl_->mutex);
  for (Rank rank = 0; rank < size; ++rank) impl_->add();
}

InProcessWorld::~InProcessWorld() = default;

Rank InProcessWorld::join() {
  MutexLock lock(impl_->mutex);
  return impl_->add();
}

Endpoint& InProcessWorld::endpoint(Rank rank) {
  MutexLock lock(impl_->mutex);
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

void InProcessWorld::set_fate(std::function<Fate(Rank from, Rank to, Tag tag)> fate) {
  MutexLock lock(impl_->mutex);
  impl_->fate = std::move(fate);
}

void InProcessWorld::set_loss(std::function<bool(Rank from, Rank to, Tag tag)> lose) {
  if (!lose) return set_fate(nullptr);
  set_fate([lose = std::move(lose)](Rank from, Rank to, Tag tag) {
    return lose(from, to, tag) ? Fate::is_lost : Fate::arrives;
  });
}

}  // namespace mangrove::net
