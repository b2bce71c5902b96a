#include "mangrove/net/local_endpoints.h"

#include "mangrove/base/log.h"

namespace mangrove::net {
namespace {

/// What a parked message costs beside its payload.
constexpr Bytes kParkedOverhead = 256;

}  // namespace

Result<std::shared_ptr<LocalRank>> LocalEndpoints::join(const std::string& job, Rank rank, Members members,
                                                        Subjects subjects) {
  MutexLock lock(mutex_);
  const Key key(job, rank);
  const auto [entry, inserted] = ranks_.try_emplace(key);
  if (!inserted) {
    return make_error(Code::already_exists,
                      "rank " + std::to_string(rank) + " of job " + job + " runs in this process already");
  }
  entry->second = {std::make_shared<LocalRank>(rank, std::move(members), clock_, room_), std::move(subjects)};
  expire_locked();
  std::deque<Parked> others;
  for (Parked& parked : parked_) {
    if (parked.to != key) {
      others.push_back(std::move(parked));
      continue;
    }
    forget_bytes(parked);
    hand_over(key, entry->second, std::move(parked.parcel));
  }
  parked_ = std::move(others);
  return entry->second.local;
}

void LocalEndpoints::leave(const std::string& job, Rank rank) {
  MutexLock lock(mutex_);
  ranks_.erase({job, rank});
}

void LocalEndpoints::set_members(const std::string& job, const Members& members, const Subjects& subjects) {
  MutexLock lock(mutex_);
  for (auto entry = ranks_.lower_bound({job, 0}); entry != ranks_.end() && entry->first.first == job; ++entry) {
    entry->second.subjects.insert(subjects.begin(), subjects.end());  // does not change that of an old rank
    entry->second.local->mailbox.set_members(members);
  }
}

void LocalEndpoints::deliver(const std::string& job, Rank to, Message message, std::size_t bytes,
                             std::optional<std::string> sender) {
  // under the lock to the end, so that what was parked stays in front of what comes now
  MutexLock lock(mutex_);
  const Key key(job, to);
  const auto found = ranks_.find(key);
  Parcel parcel{std::move(message), bytes, std::move(sender)};
  if (found != ranks_.end()) return hand_over(key, found->second, std::move(parcel));
  expire_locked();
  park(key, std::move(parcel));
}

void LocalEndpoints::hand_over(const Key& key, Held& held, Parcel parcel) {
  Message& message = parcel.message;
  LocalRank& local = *held.local;
  if (message.from < 0 || message.from >= local.mailbox.size()) {
    log_warn("message from a rank that the job does not have",
             {{"job", key.first}, {"from", message.from}, {"to", key.second}, {"ranks", local.mailbox.size()}});
    return;
  }
  const auto subject = held.subjects.find(message.from);
  if (parcel.sender && (subject == held.subjects.end() || *parcel.sender != subject->second)) {
    log_warn("message refused: the rank is another's",
             {{"job", key.first}, {"from", message.from}, {"to", key.second}, {"sender", *parcel.sender}});
    return refuse(Refused::rank);
  }
  local.meter.received(message.from, message.tag, parcel.bytes);
  const Rank from = message.from;
  if (local.mailbox.deliver(std::move(message))) return;
  refuse(Refused::message_without_room);
  if (held.refused.insert(from).second)
    log_warn("messages refused: too much waits unread",
             {{"job", key.first}, {"from", from}, {"to", key.second}, {"bytes", parcel.bytes}});
}

void LocalEndpoints::park(const Key& key, Parcel parcel) {
  const Bytes cost = static_cast<Bytes>(parcel.bytes) + kParkedOverhead;
  const auto parked_of = [](const std::map<std::string, Bytes>& bytes, const std::string& whose) {
    const auto found = bytes.find(whose);
    return found == bytes.end() ? 0 : found->second;
  };
  const std::string sender = parcel.sender.value_or("");
  const Bytes job_bytes = parked_of(parked_job_bytes_, key.first) + cost;
  const Bytes sender_bytes = parked_of(parked_sender_bytes_, sender) + cost;
  if (job_bytes > limits_.job_bytes || (!sender.empty() && sender_bytes > limits_.sender_bytes) ||
      parked_total_bytes_ + cost > limits_.total_bytes) {
    log_warn("message dropped: too much waits for ranks that have not joined",
             {{"job", key.first}, {"to", key.second}, {"bytes", parcel.bytes}, {"waiting_bytes", parked_total_bytes_}});
    return refuse(Refused::message_without_room);
  }
  parked_job_bytes_[key.first] = job_bytes;
  parked_sender_bytes_[sender] = sender_bytes;
  parked_total_bytes_ += cost;
  parked_.push_back({key, std::move(parcel), clock_->now()});
}

void LocalEndpoints::forget_bytes(const Parked& parked) {
  const Bytes cost = static_cast<Bytes>(parked.parcel.bytes) + kParkedOverhead;
  parked_total_bytes_ -= cost;
  const auto give_back = [cost](std::map<std::string, Bytes>& bytes, const std::string& whose) {
    const auto found = bytes.find(whose);
    found->second -= cost;
    if (found->second == 0) bytes.erase(found);
  };
  give_back(parked_job_bytes_, parked.to.first);
  give_back(parked_sender_bytes_, parked.parcel.sender.value_or(""));
}

void LocalEndpoints::expire() {
  MutexLock lock(mutex_);
  expire_locked();
}

void LocalEndpoints::expire_locked() {
  const Instant now = clock_->now();
  while (!parked_.empty() && now - parked_.front().came >= limits_.time) {
    log_debug("message dropped: its rank has not joined",
              {{"job", parked_.front().to.first}, {"to", parked_.front().to.second}});
    forget_bytes(parked_.front());
    parked_.pop_front();
  }
}

}  // namespace mangrove::net
