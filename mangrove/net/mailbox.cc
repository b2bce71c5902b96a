#include "mangrove/net/mailbox.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mangrove::net {
namespace {

bool is_any(const RankSet& from) {
  return from.size() == 1 && from.front() == kAnyRank;
}

template <class T>
std::string list(const std::vector<T>& numbers) {
  std::string text;
  for (const T number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string describe(const RankSet& from, const std::vector<Tag>& tags) {
  return "a message with tag " + list(tags) + " from " + (is_any(from) ? "any rank" : "rank " + list(from));
}

}  // namespace

Mailbox::Mailbox(Rank owner, std::shared_ptr<const Members> members, std::shared_ptr<const Clock> clock)
    : owner_(owner), clock_(std::move(clock)), members_(std::move(members)) {}

void Mailbox::deliver(Message message) {
  MutexLock lock(mutex_);
  if (cancelled_ || !members_->alive(message.from)) return;
  std::deque<Waiting>& queue = waiting_[message.tag][message.from];
  queue.push_back({arrived_++, std::move(message)});
  changed_.notify_all();
}

Result<Message> Mailbox::recv(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline) {
  MutexLock lock(mutex_);
  for (;;) {
    if (std::optional<Result<Message>> now = outcome(from, tags)) return *std::move(now);
    const Seconds left = deadline - clock_->now();
    if (left <= 0) {
      return make_error(Code::deadline_exceeded,
                        "rank " + std::to_string(owner_) + ": " + describe(from, tags) + " did not come in time");
    }
    changed_.wait_for(mutex_, left);
  }
}

std::optional<Result<Message>> Mailbox::poll(const RankSet& from, const std::vector<Tag>& tags) {
  MutexLock lock(mutex_);
  return outcome(from, tags);
}

std::optional<Result<Message>> Mailbox::outcome(const RankSet& from, const std::vector<Tag>& tags) {
  if (cancelled_) return make_error(Code::cancelled, "rank " + std::to_string(owner_) + ": the job ends");
  if (std::optional<Message> message = take(from, tags)) return *std::move(message);
  if (std::optional<Error> error = gone(from)) return *std::move(error);
  return std::nullopt;
}

std::optional<Message> Mailbox::take(const RankSet& from, const std::vector<Tag>& tags) {
  Senders* oldest_senders = nullptr;
  Senders::iterator oldest;
  const auto consider = [&](Senders& senders, Senders::iterator candidate) {
    if (oldest_senders && candidate->second.front().order > oldest->second.front().order) return;
    oldest_senders = &senders;
    oldest = candidate;
  };
  Tag oldest_tag = 0;
  for (const Tag tag : tags) {
    const auto found = waiting_.find(tag);
    if (found == waiting_.end()) continue;
    Senders& senders = found->second;
    if (is_any(from) || (senders.size() < from.size() && std::ranges::is_sorted(from))) {
      for (auto sender = senders.begin(); sender != senders.end(); ++sender)
        if (is_any(from) || std::ranges::binary_search(from, sender->first)) consider(senders, sender);
    } else {
      for (const Rank rank : from) {
        if (const auto sender = senders.find(rank); sender != senders.end()) consider(senders, sender);
      }
    }
    if (oldest_senders == &senders) oldest_tag = tag;
  }
  if (!oldest_senders) return std::nullopt;

  Message message = std::move(oldest->second.front().message);
  oldest->second.pop_front();
  if (oldest->second.empty()) oldest_senders->erase(oldest);
  if (oldest_senders->empty()) waiting_.erase(oldest_tag);
  return message;
}

std::optional<Error> Mailbox::gone(const RankSet& from) const {
  const std::string where = "rank " + std::to_string(owner_) + ": ";
  if (is_any(from)) {
    const bool alone = std::ranges::none_of(
        members_->all, [this](const Member& member) { return member.alive && member.rank != owner_; });
    if (alone) return make_error(Code::unavailable, where + "every other rank is gone");
    return std::nullopt;
  }
  for (const Rank rank : from) {
    if (!members_->alive(rank))
      return make_error(Code::unavailable, where + "rank " + std::to_string(rank) + " is gone");
  }
  return std::nullopt;
}

void Mailbox::set_members(std::shared_ptr<const Members> members) {
  MutexLock lock(mutex_);
  if (members->version < members_->version) return;
  members_ = std::move(members);
  changed_.notify_all();
}

Members Mailbox::members() const {
  MutexLock lock(mutex_);
  return *members_;
}

bool Mailbox::alive(Rank rank) const {
  MutexLock lock(mutex_);
  return members_->alive(rank);
}

int Mailbox::size() const {
  MutexLock lock(mutex_);
  return static_cast<int>(members_->all.size());
}

void Mailbox::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  waiting_.clear();
  changed_.notify_all();
}

}  // namespace mangrove::net
