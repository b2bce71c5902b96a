#include "mangrove/net/mailbox.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mangrove::net {
namespace {

/// How many bytes a message takes while it waits.
Bytes cost(const Message& message) {
  constexpr Bytes kOverhead = 256;
  return static_cast<Bytes>(message.payload.size()) + kOverhead;
}

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

Mailbox::Mailbox(Rank owner, std::shared_ptr<const Members> members, std::shared_ptr<const Clock> clock,
                 std::shared_ptr<WaitingRoom> room)
    : owner_(owner), clock_(std::move(clock)), room_(std::move(room)), members_(std::move(members)) {}

Mailbox::~Mailbox() {
  MutexLock lock(mutex_);
  clear();
}

bool Mailbox::deliver(Message message) {
  MutexLock lock(mutex_);
  if (cancelled_ || !members_->alive(message.from)) return true;
  if (room_ != nullptr) {
    const Bytes bytes = cost(message);
    Bytes& of_sender = waiting_bytes_[message.from];
    if ((of_sender > 0 && of_sender + bytes > room_->of_one()) || !room_->take(bytes)) return false;
    of_sender += bytes;
  }
  std::deque<Waiting>& queue = waiting_[message.tag][message.from];
  queue.push_back({arrived_++, std::move(message)});
  changed_.notify_all();
  return true;
}

void Mailbox::clear() {
  waiting_.clear();
  for (const auto& [sender, bytes] : waiting_bytes_) room_->give_back(bytes);
  waiting_bytes_.clear();
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
  if (room_ != nullptr) {
    waiting_bytes_[message.from] -= cost(message);
    room_->give_back(cost(message));
  }
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
  clear();
  changed_.notify_all();
}

}  // namespace mangrove::net
