#include "mangrove/net/send_queue.h"

namespace mangrove::net {

void SendQueue::push(std::unique_ptr<Outgoing> message) {
  if (lost_.contains({message->envelope.job(), message->envelope.to()})) return;
  message->envelope.set_sequence(++last_sequence_);
  messages_.push_back(std::move(message));
}

std::shared_ptr<const Outgoing> SendQueue::next() {
  return has_next() ? messages_[written_++] : nullptr;
}

void SendQueue::acknowledge(std::uint64_t sequence) {
  // only what was written can have been received, whatever the peer says
  while (written_ > 0 && messages_.front()->envelope.sequence() <= sequence) {
    messages_.pop_front();
    --written_;
  }
}

Bytes SendQueue::queued_bytes(const std::string& job, Rank to, Tag tag) const {
  std::size_t bytes = 0;
  for (const auto& message : messages_) {
    const Envelope& envelope = message->envelope;
    if (envelope.tag() == tag && envelope.to() == to && envelope.job() == job) bytes += envelope.payload().size();
  }
  return static_cast<Bytes>(bytes);
}

void SendQueue::drop(const std::string& job, Rank rank) {
  lost_.emplace(job, rank);
  std::deque<std::shared_ptr<const Outgoing>> kept;
  std::size_t kept_written = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i]->envelope.job() == job && messages_[i]->envelope.to() == rank) continue;
    kept.push_back(std::move(messages_[i]));
    if (i < written_) ++kept_written;
  }
  messages_ = std::move(kept);
  written_ = kept_written;
}

}  // namespace mangrove::net
