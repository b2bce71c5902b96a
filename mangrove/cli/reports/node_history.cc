#include "mangrove/cli/reports/node_history.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/metrics_line.h"
#include "mangrove/cli/reports/thinned_curve.h"

namespace mangrove::cli {
namespace {

using cluster::SampleLine;

constexpr std::size_t kLastSteps = 8;
constexpr std::size_t kMostNodes = 256, kMostJobs = 256, kMostPurposes = 32;
constexpr std::size_t kMostIntervals = 1024;

PhaseSeconds operator-(const PhaseSeconds& a, const PhaseSeconds& b) {
  return {a.load - b.load, a.compute - b.compute, a.encode - b.encode, a.wire - b.wire, a.wait - b.wait};
}

void add(PhaseSeconds& to, const PhaseSeconds& more) {
  to = {to.load + more.load, to.compute + more.compute, to.encode + more.encode, to.wire + more.wire,
        to.wait + more.wait};
}

/// Intervals in order, of which neighbours become one where there are too many.
void add(std::vector<NodeHistory::Interval>& to, const NodeHistory::Interval& more) {
  to.push_back(more);
  if (to.size() < kMostIntervals) return;
  for (std::size_t i = 0; i < kMostIntervals / 2; ++i) {
    to[i] = to[2 * i];
    to[i].end = to[2 * i + 1].end;
    add(to[i].phases, to[2 * i + 1].phases);
  }
  to.resize(kMostIntervals / 2);
}

}  // namespace

/// Follows the samples of one node.
class NodeHistories::Follower {
 public:
  explicit Follower(const std::string& name) { history_.name = name; }

  /// `begin`: when the sample's job began.
  void take(const SampleLine& sample, double begin) {
    if (sample.job != job_) {
      job_ = sample.job;
      before_ = {};
      before_.time = begin;
    }
    Counters now{begin + sample.time,
                 static_cast<double>(sample.sent_bytes),
                 static_cast<double>(sample.received_bytes),
                 {},
                 {}};
    take_use(sample, now);
    take_traffic(sample, now);
    take_steps(sample.steps, begin, now);
    before_ = std::move(now);
  }

  NodeHistory history() const {
    NodeHistory history = history_;
    history.cpu = cpu_.points();
    history.cores = cores_.points();
    history.memory = memory_.points();
    history.sent = sent_.points();
    history.received = received_.points();
    history.temperature = temperature_.points();
    return history;
  }
  const std::string& name() const { return history_.name; }

 private:
  /// Since the job began.
  struct Counters {
    double time = 0, sent = 0, received = 0;
    std::map<std::string, net::Flow> by_purpose;
    PhaseSeconds phases;
    std::int64_t steps = 0;
  };

  void take_use(const SampleLine& sample, const Counters& now) {
    const double memory = static_cast<double>(sample.rss_bytes) / 1e6;
    cpu_.add(now.time, sample.cpu_percent);
    memory_.add(now.time, memory);
    history_.peak_memory = std::max(history_.peak_memory, memory);
    double busy = 0;
    for (const double core : sample.core_percent) busy += core;
    if (!sample.core_percent.empty()) cores_.add(now.time, busy / static_cast<double>(sample.core_percent.size()));
    if (sample.temperature) temperature_.add(now.time, *sample.temperature);
    const double seconds = now.time - before_.time;
    if (seconds <= 0) return;
    sent_.add(now.time, (now.sent - before_.sent) / seconds / 1e6);
    received_.add(now.time, (now.received - before_.received) / seconds / 1e6);
  }

  void take_traffic(const SampleLine& sample, Counters& now) {
    for (const SampleLine::Flow& flow : sample.traffic) {
      if (now.by_purpose.size() >= kMostPurposes && !now.by_purpose.contains(flow.purpose)) continue;
      now.by_purpose[flow.purpose] += {flow.sent_bytes, flow.received_bytes};
    }
    for (const auto& [purpose, bytes] : now.by_purpose) {
      if (history_.by_purpose.size() >= kMostPurposes && !history_.by_purpose.contains(purpose)) continue;
      const net::Flow& before = before_.by_purpose[purpose];
      history_.by_purpose[purpose] +=
          {bytes.sent_bytes - before.sent_bytes, bytes.received_bytes - before.received_bytes};
    }
  }

  /// A role has no steps before it begins, and none after it has ended.
  void take_steps(const std::optional<SampleLine::Steps>& steps, double begin, Counters& now) {
    now.phases = steps ? steps->total : before_.phases;
    now.steps = steps ? steps->count : before_.steps;
    if (now.steps > before_.steps) {
      const PhaseSeconds more = now.phases - before_.phases;
      history_.steps += now.steps - before_.steps;
      add(history_.total, more);
      add(history_.intervals, {before_.time, now.time, more});
    }
    if (!steps) return;
    for (const SampleLine::Step& step : steps->recent) history_.last_steps.push_back({begin + step.time, step.phases});
    if (history_.last_steps.size() > kLastSteps)
      history_.last_steps.erase(history_.last_steps.begin(), history_.last_steps.end() - kLastSteps);
  }

  NodeHistory history_;  // but for its curves
  ThinnedCurve cpu_, cores_, memory_, sent_, received_, temperature_;
  std::string job_;
  Counters before_;  // in the last sample of this job
};

NodeHistories::NodeHistories() = default;
NodeHistories::~NodeHistories() = default;
NodeHistories::NodeHistories(const NodeHistories&) = default;
NodeHistories::NodeHistories(NodeHistories&&) noexcept = default;

void NodeHistories::take(const nlohmann::json& line) {
  auto sample = read_line<SampleLine>(line);
  if (!sample || !std::isfinite(sample->time)) return;
  sample->node = shortened(sample->node, kLongestName);
  if (begins_.size() >= kMostJobs && !begins_.contains(sample->job)) return;
  const double begin = begins_.emplace(sample->job, latest_).first->second;
  auto follower = std::ranges::find(followers_, sample->node, &Follower::name);
  if (follower == followers_.end()) {
    if (followers_.size() >= kMostNodes) return;
    follower = followers_.emplace(followers_.end(), sample->node);
  }
  follower->take(*sample, begin);
  latest_ = std::max(latest_, begin + sample->time);
}

std::vector<NodeHistory> NodeHistories::all() const {
  std::vector<NodeHistory> histories;
  for (const Follower& follower : followers_) histories.push_back(follower.history());
  return histories;
}

}  // namespace mangrove::cli
