#include "mangrove/cluster/usage.h"

#include <algorithm>
#include <utility>

namespace mangrove::cluster {
namespace {

/// The counters of `now` less those of `before`; flows that did not grow are left out.
ResourceUse since(const ResourceUse& before, const ResourceUse& now) {
  ResourceUse use = now;
  use.set_sent_bytes(now.sent_bytes() - before.sent_bytes());
  use.set_received_bytes(now.received_bytes() - before.received_bytes());
  use.set_minor_faults(now.minor_faults() - before.minor_faults());
  use.set_major_faults(now.major_faults() - before.major_faults());
  std::map<std::pair<std::string, std::string>, const PeerFlow*> old;
  for (const PeerFlow& flow : before.flows()) old[{flow.peer(), flow.purpose()}] = &flow;
  use.clear_flows();
  for (PeerFlow flow : now.flows()) {
    if (const auto found = old.find({flow.peer(), flow.purpose()}); found != old.end()) {
      flow.set_sent_bytes(flow.sent_bytes() - found->second->sent_bytes());
      flow.set_received_bytes(flow.received_bytes() - found->second->received_bytes());
    }
    if (flow.sent_bytes() != 0 || flow.received_bytes() != 0) *use.add_flows() = std::move(flow);
  }
  return use;
}

}  // namespace

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
  entry->is_new = true;
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

std::vector<NodeSample> UsageBook::take_samples() {
  std::vector<NodeSample> samples;
  for (Entry& entry : entries_) {
    if (!std::exchange(entry.is_new, false)) continue;
    NodeSample& sample = samples.emplace_back(NodeSample{entry.name, entry.sampled, since(entry.before, entry.last)});
    auto& recent = *sample.use.mutable_steps()->mutable_recent();
    recent.erase(std::remove_if(recent.begin(), recent.end(),
                                [&](const StepSeconds& step) { return step.step() <= entry.step_before; }),
                 recent.end());
    if (!recent.empty()) entry.step_before = recent.rbegin()->step();
  }
  return samples;
}

UsageBook::Entry* UsageBook::find(MemberId node) {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) { return e.node == node; });
  return found == entries_.rend() ? nullptr : &*found;
}

}  // namespace mangrove::cluster
