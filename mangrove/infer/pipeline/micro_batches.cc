#include "mangrove/infer/pipeline/micro_batches.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::infer {

MicroBatches::MicroBatches(std::int64_t samples, std::int64_t size, std::size_t window)
    : samples_(samples),
      size_(size),
      window_(window),
      answered_(static_cast<std::size_t>((samples + size - 1) / size)) {
  MG_CHECK(samples >= 0 && size >= 1 && window >= 1);
}

MicroBatches::Part MicroBatches::part(std::uint64_t id) const {
  const std::int64_t begin = static_cast<std::int64_t>(id) * size_;
  return {id, begin, std::min(size_, samples_ - begin)};
}

std::optional<MicroBatches::Part> MicroBatches::send_next(Instant now) {
  if (sent_at_.size() >= window_) return std::nullopt;
  std::uint64_t id = next_;
  if (!again_.empty()) {
    id = again_.front();
    again_.pop_front();
  } else if (next_ < answered_.size()) {
    ++next_;
  } else {
    return std::nullopt;
  }
  sent_at_[id] = now;
  return part(id);
}

bool MicroBatches::answer(std::uint64_t id) {
  if (!exists(id) || answered_[id]) return false;
  answered_[id] = true;
  ++answers_;
  sent_at_.erase(id);
  std::erase(again_, id);
  return true;
}

void MicroBatches::resend_all() {
  for (auto entry = sent_at_.rbegin(); entry != sent_at_.rend(); ++entry) again_.push_front(entry->first);
  sent_at_.clear();
}

std::vector<std::uint64_t> MicroBatches::resend_overdue(Instant now, Seconds timeout) {
  std::vector<std::uint64_t> overdue;
  for (const auto& [id, sent] : sent_at_)
    if (now - sent > timeout) overdue.push_back(id);
  for (const std::uint64_t id : overdue) {
    sent_at_.erase(id);
    again_.push_back(id);
  }
  return overdue;
}

}  // namespace mangrove::infer
