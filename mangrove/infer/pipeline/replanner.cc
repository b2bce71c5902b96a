#include "mangrove/infer/pipeline/replanner.h"

#include <algorithm>
#include <limits>

#include "mangrove/base/median.h"

namespace mangrove::infer {
namespace {

constexpr int kLongestBackoff = 64;  // rounds
constexpr std::size_t kFewest = 3;   // times that a median is taken of
constexpr double kTrifle = 0.05;     // of the plan's period: how fast a board is cannot be seen from less work

/// So many times more micro-batches make a round: each board of a stage has but a part of them.
int most_replicas(const StagePlan& plan) {
  std::size_t most = 1;
  for (const StagePlan::Stage& stage : plan.stages) most = std::max(most, stage.replicas.size());
  return static_cast<int>(most);
}

/// A rank that was not measured has the profile of the first device.
std::vector<DeviceProfile> profiles_of(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) {
  std::vector<DeviceProfile> devices;
  for (const net::Rank rank : ranks) devices.push_back(profile_of(measured, rank));
  return devices;
}

}  // namespace

Replanner::Replanner(const Graph& graph, std::vector<DeviceProfile> measured, InferJob job)
    : graph_(graph), job_(std::move(job)), devices_(std::move(measured)) {
  job_.clear_model();
}

bool Replanner::has_room(const StagePlan& plan, std::span<const net::Rank> successors) const {
  auto successor = successors.begin();
  for (const StagePlan::Stage& stage : plan.stages) {
    for (const StagePlan::Replica& replica : stage.replicas) {
      const DeviceProfile device = profiles_of(devices_, {*successor++}).front();
      const Bytes needed = replica.memory - (device.process - device.needed);
      if (device.memory > 0 && needed > device.memory) return false;
    }
  }
  return true;
}

StagePlan Replanner::whole_on_each(const net::RankSet& ranks) const {
  StagePlan plan;
  StagePlan::Stage& stage = plan.stages.emplace_back();
  for (const Node& node : graph_.nodes()) {
    stage.nodes.push_back(static_cast<std::uint32_t>(stage.nodes.size()));
    stage.operators.push_back(node.name);
  }
  for (const DeviceProfile& device : profiles_of(devices_, ranks)) {
    stage.replicas.push_back({device.rank, device.single_seconds()});
    plan.latency = std::max(plan.latency, device.single_seconds());
  }
  plan.period = stage.period();
  plan.window = 2 * ranks.size() + 2;
  plan.limited_by = "the whole network on each board";
  return plan;
}

Result<StagePlan> Replanner::plan_for(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) const {
  InferJob job = job_;
  const std::vector<DeviceProfile> devices = profiles_of(measured, ranks);
  if (std::max(job.stages(), job.cuts_size() + 1) > std::ssize(ranks)) {
    job.set_stages(0);
    job.clear_cuts();
  }
  return plan_stages(graph_, devices, job);
}

double Replanner::ratio(std::span<const std::uint32_t> nodes, net::Rank from, net::Rank to) const {
  const auto seconds = [&](net::Rank rank) {
    const auto found = std::ranges::find(devices_, rank, &DeviceProfile::rank);
    const DeviceProfile& profile = found == devices_.end() ? devices_.front() : *found;
    Seconds sum = 0;
    for (const std::uint32_t node : nodes) sum += profile.operator_seconds[node];
    return sum;
  };
  const Seconds before = seconds(from), after = seconds(to);
  return before > 0 && after > 0 ? after / before : 1;
}

void Replanner::begin(const StagePlan& plan) {
  round_ = {};
  least_transit_.assign(plan.stages.size(), std::numeric_limits<double>::infinity());
  factors_.clear();
  slow_link_.reset();
  rounds_to_wait_ = 0;
  backoff_ = 1;
}

void Replanner::add(const Trace& trace, Instant answered) {
  const auto stages = static_cast<std::size_t>(trace.seconds_size());
  if (round_.count == 0) {
    round_.seconds.assign(stages, {});
    round_.transit.assign(stages, {});
    round_.sent_bytes.assign(stages, 0);
    round_.first = answered;
  }
  round_.last = answered;
  ++round_.count;
  for (std::size_t s = 0; s < stages; ++s) {
    const int at = static_cast<int>(s);
    round_.seconds[s][trace.ranks(at)].push_back(trace.seconds(at));
    if (s == 0) continue;
    round_.transit[s].push_back(trace.transit(at - 1));
    round_.sent_bytes[s] += trace.sent_bytes(at - 1);
    least_transit_[s] = std::min(least_transit_[s], trace.transit(at - 1));
  }
}

/// For one micro-batch; what is expected where it has had too few.
Seconds Replanner::measured(std::size_t stage, const StagePlan::Replica& replica) const {
  const auto found = round_.seconds[stage].find(replica.rank);
  const bool has_enough = found != round_.seconds[stage].end() && found->second.size() >= kFewest;
  return has_enough ? median(found->second) : replica.busy;
}

/// Of each rank with a stage: what it takes, by what was predicted.
Replanner::Factors Replanner::compute_factors(const StagePlan& plan) const {
  std::map<net::Rank, Seconds> taken, predicted;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const StagePlan::Replica& replica : plan.stages[s].replicas) {
      taken[replica.rank] += measured(s, replica);
      predicted[replica.rank] += replica.busy;
    }
  }
  Factors factors;
  for (const auto& [rank, seconds] : taken) {
    const bool says_something = predicted[rank] > 0 && std::max(seconds, predicted[rank]) > kTrifle * plan.period;
    factors[rank] = says_something ? seconds / predicted[rank] : 1;
  }
  return factors;
}

/// The stage before which micro-batches pile up, where neither that was predicted nor the boards' work explains the
/// time between answers.
std::optional<std::size_t> Replanner::drifted_link(const StagePlan& plan, Seconds compute) const {
  const Seconds between = answer_period();
  if (between < plan::kDrift * std::max(plan.period, compute)) return std::nullopt;
  std::optional<std::size_t> slowest;
  Seconds longest = 2 * between;  // that many wait for the link: not just one that is a little late
  for (std::size_t s = 1; s < plan.stages.size(); ++s) {
    const bool is_one_link = plan.stages[s - 1].replicas.size() == 1 && plan.stages[s].replicas.size() == 1;
    const Seconds waited = median(round_.transit[s]) - least_transit_[s];
    if (!is_one_link || waited <= longest || round_.sent_bytes[s] == 0) continue;
    slowest = s;
    longest = waited;
  }
  return slowest;
}

/// Of the board that takes longest with its share of the micro-batches.
Seconds Replanner::compute_period(const StagePlan& plan) const {
  std::map<net::Rank, Seconds> busy;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    StagePlan::Stage stage = plan.stages[s];
    for (StagePlan::Replica& replica : stage.replicas) replica.busy = measured(s, replica);
    for (const StagePlan::Replica& replica : stage.replicas) busy[replica.rank] += stage.period();
  }
  Seconds most = 0;
  for (const auto& [rank, seconds] : busy) most = std::max(most, seconds);
  return most;
}

/// What has drifted in this round and the one before. False: nothing.
bool Replanner::rescale(const Factors& factors, std::vector<DeviceProfile>& devices) const {
  bool has_drifted = false;
  for (const auto& [rank, factor] : factors) {
    const auto before = factors_.find(rank);
    if (before == factors_.end() || factor <= 0 || !plan::drift_persists(before->second, factor)) continue;
    has_drifted = true;
    profile_among(devices, rank).scale(factor);
  }
  return has_drifted;
}

/// Which of its ends is slow nobody can tell: both are taken to be.
bool Replanner::slow_down_links(const StagePlan& plan, std::optional<std::size_t> link,
                                std::vector<DeviceProfile>& devices) const {
  if (!link || slow_link_ != link) return false;
  const BytesPerSecond rate = static_cast<double>(round_.sent_bytes[*link]) / round_.count / answer_period();
  for (const std::size_t end : {*link - 1, *link}) {
    DeviceProfile& profile = profile_among(devices, plan.stages[end].replicas.front().rank);
    profile.rate = profile.rate > 0 ? std::min(profile.rate, rate) : rate;
  }
  return true;
}

std::optional<StagePlan> Replanner::revise(const StagePlan& plan, const net::RankSet& ranks, const Outlook& outlook) {
  if (round_.count < kRound * most_replicas(plan)) return std::nullopt;
  std::vector<DeviceProfile> now = devices_;
  const Seconds compute = compute_period(plan);
  const std::optional<std::size_t> link = drifted_link(plan, compute);
  const Factors factors = compute_factors(plan);
  bool has_drifted = rescale(factors, now);
  has_drifted = slow_down_links(plan, link, now) || has_drifted;
  const Seconds period = link ? answer_period() : compute;
  factors_ = factors;
  slow_link_ = link;
  round_ = {};
  if (!has_drifted || rounds_to_wait_-- > 0 || period <= 0) return std::nullopt;
  Result<StagePlan> better = plan_for(now, ranks);
  const double left = outlook.left.value_or(kHorizon / period);
  if (!better.ok() || !kRule.is_met(period / better->period, left * period, outlook.pause)) {
    backoff_ = std::min(2 * backoff_, kLongestBackoff);
    rounds_to_wait_ = backoff_;
    return std::nullopt;
  }
  devices_ = std::move(now);
  return std::move(*better);
}

}  // namespace mangrove::infer
