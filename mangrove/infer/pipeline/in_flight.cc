#include "mangrove/infer/pipeline/in_flight.h"

#include <algorithm>

namespace mangrove::infer {

void InFlight::remove(std::uint64_t id) {
  sent_at_.erase(id);
  std::erase(again_, id);
}

std::optional<std::uint64_t> InFlight::next_again() {
  if (again_.empty()) return std::nullopt;
  const std::uint64_t id = again_.front();
  again_.pop_front();
  return id;
}

void InFlight::resend_all() {
  for (const auto& [id, sent] : sent_at_) again_.push_back(id);
  sent_at_.clear();
  std::ranges::sort(again_);
}

std::vector<std::uint64_t> InFlight::resend_overdue(Instant now, Seconds timeout) {
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
