#include "mangrove/cluster/usage.h"

#include <algorithm>

namespace mangrove::cluster {

void UsageBook::add(MemberId node, const std::string& name, const ResourceUse& before, Instant now) {
  entries_.push_back({.node = node,
                      .name = name,
                      .state = "alive",
                      .before = before,
                      .last = before,
                      .sampled = now,
                      .peak_rss = before.rss_bytes()});
}

void UsageBook::sample(MemberId node, const ResourceUse& use, Instant now) {
  Entry* entry = find(node);
  if (entry == nullptr) return;
  const Seconds seconds = now - entry->sampled;
  entry->cpu_seconds += use.cpu_percent() / 100 * seconds;
  entry->seconds += seconds;
  entry->peak_rss = std::max<Bytes>(entry->peak_rss, use.rss_bytes());
  entry->last = use;
  entry->sampled = now;
}

void UsageBook::set_state(MemberId node, const std::string& state) {
  if (Entry* entry = find(node)) entry->state = state;
}

std::vector<NodeUsage> UsageBook::now() const {
  return rows(false);
}

std::vector<NodeUsage> UsageBook::overall() const {
  return rows(true);
}

std::vector<NodeUsage> UsageBook::rows(bool overall) const {
  std::vector<NodeUsage> rows;
  for (const Entry& entry : entries_) {
    const double mean = entry.seconds > 0 ? 100 * entry.cpu_seconds / entry.seconds : entry.last.cpu_percent();
    rows.push_back({.name = entry.name,
                    .state = entry.state,
                    .cpu_percent = overall ? mean : entry.last.cpu_percent(),
                    .rss_bytes = overall ? entry.peak_rss : entry.last.rss_bytes(),
                    .sent_bytes = entry.last.sent_bytes() - entry.before.sent_bytes(),
                    .received_bytes = entry.last.received_bytes() - entry.before.received_bytes()});
  }
  return rows;
}

UsageBook::Entry* UsageBook::find(MemberId node) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.node == node; });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace mangrove::cluster
