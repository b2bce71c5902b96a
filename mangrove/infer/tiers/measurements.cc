#include "mangrove/infer/tiers/measurements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace mangrove::infer {
namespace {

constexpr int kRounds = 10;  // timeouts that a device may take to read its network and do the tasks
constexpr int kTasks = 3;    // one after the other

bool is_of(const std::string& node, const std::string& tier) {
  if (!node.starts_with(tier)) return false;
  const std::string rest = node.substr(tier.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                          std::all_of(rest.begin() + 1, rest.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

/// The measurements of one device. The first task does not count, because the device reads its network with it.
struct Times {
  int done = 0;
  /// Requests for the next task, which may be repeated. An answer to any of them counts, and its time on the way is
  /// from when that one was sent: job::Requests does not tell.
  std::map<std::uint64_t, Instant> asked = {};
  Seconds service = 0;                                        // mean
  Seconds on_way = std::numeric_limits<Seconds>::infinity();  // least

  bool complete() const { return done == kTasks; }
  void add(Seconds seconds, Seconds way) {
    asked.clear();
    if (done++ == 0) return;
    service += seconds / (kTasks - 1);
    on_way = std::min(on_way, way);
  }
};

/// Of each tier, the command for the first task. A bottom model is run as often as a device does its tasks, and its
/// time measured so.
Result<std::map<std::size_t, Command>> first_tasks(const InferJob& job, BottomModels& bottom_models,
                                                   const TierExits& exits, const Hello& data,
                                                   const std::map<net::Rank, std::size_t>& tiers) {
  std::map<std::size_t, Command> commands;
  for (const auto& [rank, part] : tiers) {
    if (commands.contains(part)) continue;
    for (int run = 0; run < (bottom_models.has(part) ? kTasks : 1); ++run) {
      MG_TRY(commands[part], task_command(job, bottom_models, data, {}, part));
    }
    if (!exits.any() || needs_data(job, part)) continue;
    const Answer answer = answer_of(job, part);
    const Bytes of_sample = exits.level(TierExits::before(answer)).value_bytes;
    Command& command = commands.at(part);
    command.set_answer(static_cast<std::uint32_t>(answer));
    command.set_values(std::string(static_cast<std::size_t>(command.count() * of_sample), '\0'));
  }
  return commands;
}

}  // namespace

std::map<net::Rank, std::size_t> tiers_of(const InferJob& job, const std::map<net::Rank, std::string>& names,
                                          const net::RankSet& without_data) {
  std::map<net::Rank, std::size_t> tiers;
  std::vector<int> left;
  for (const TierPart& part : job.tiers()) left.push_back(part.devices());
  // one too many of such a tier does nothing, rather than see the samples of another
  const auto is_untrusted = [&](const std::string& name) {
    return std::ranges::any_of(job.tiers(),
                               [&](const TierPart& part) { return !part.trusted() && is_of(name, part.name()); });
  };
  const auto lacks_data = [&](net::Rank rank) { return std::ranges::count(without_data, rank) > 0; };
  const auto place = [&](net::Rank rank, const std::string& name, bool by_name) {
    for (std::size_t part = 0; part < left.size(); ++part) {
      const TierPart& tier = job.tiers(static_cast<int>(part));
      if (left[part] == 0 || (needs_data(job, part) && lacks_data(rank))) continue;
      if (by_name ? !is_of(name, tier.name()) : tier.trusted() && is_untrusted(name)) continue;
      tiers[rank] = part;
      --left[part];
      return;
    }
  };
  for (const auto& [rank, name] : names) place(rank, name, true);
  for (const bool lacking : {true, false}) {  // the others fit in wherever there is room
    for (const auto& [rank, name] : names)
      if (!tiers.contains(rank) && lacks_data(rank) == lacking) place(rank, name, false);
  }
  return tiers;
}

Result<Command> task_command(const InferJob& job, BottomModels& bottom_models, const Hello& data, const TierTask& task,
                             std::size_t part) {
  Command command;
  command.set_kind(Command::TASK);
  command.set_micro_batch(task.batch);
  command.set_answer(static_cast<std::uint32_t>(task.answer));
  command.set_member(static_cast<std::uint32_t>(part));
  const std::int64_t begin = static_cast<std::int64_t>(task.batch) * job.micro_batch();
  command.set_begin(begin);
  command.set_count(std::min(job.micro_batch(), data.samples() - begin));
  if (!bottom_models.has(part)) return command;
  MG_TRY(*command.mutable_values(), bottom_models.run(part, begin, command.count()));
  return command;
}

Result<std::vector<TierDispatch::Device>> measure_tiers(const InferJob& job, job::RoleContext& context,
                                                        NodeRoster& nodes, BottomModels& bottom_models,
                                                        const TierExits& exits, const Hello& data,
                                                        const std::map<net::Rank, std::size_t>& tiers,
                                                        Seconds timeout) {
  std::map<net::Rank, Times> all;
  std::set<net::Rank> missing;
  for (const auto& [rank, part] : tiers) missing.insert(rank);
  MG_TRY(auto commands, first_tasks(job, bottom_models, exits, data, tiers));
  std::uint64_t requests = 0;
  const auto ask = [&](net::Rank rank) {
    Command& command = commands.at(tiers.at(rank));
    command.set_request(++requests);
    all[rank].asked[requests] = context.clock.now();
    nodes.send(rank, command);
  };
  for (int round = 0; round < kRounds && !missing.empty(); ++round) {
    for (const net::Rank rank : missing) ask(rank);
    const Deadline deadline = context.clock.after(timeout);
    while (!missing.empty() && context.clock.now() < deadline) {
      MG_TRY(const std::optional<NodeRoster::Said> said, nodes.next(deadline));
      std::erase_if(missing, [&](net::Rank rank) { return !nodes.is_usable(rank); });
      if (!said || !said->message.has_tier_answer() || !missing.contains(said->rank)) continue;
      const TierAnswer& answer = said->message.tier_answer();
      Times& times = all[said->rank];
      const Seconds took = answer.seconds() + answer.waited();
      const auto asked = times.asked.find(answer.request());
      if (asked == times.asked.end() || !std::isfinite(took) || answer.seconds() < 0) continue;
      times.add(answer.seconds(), std::max(0.0, context.clock.now() - asked->second - took));
      if (!times.complete()) ask(said->rank);
      if (times.complete()) missing.erase(said->rank);
    }
  }
  std::vector<TierDispatch::Device> devices;
  for (const auto& [rank, times] : all) {
    if (!times.complete() || !nodes.is_usable(rank)) continue;
    const std::size_t part = tiers.at(rank);
    const Tier tier = tier_of(job.tiers(static_cast<int>(part)));
    const bool gives_first = !sees_samples(job, part, Answer::first) || nodes.has_data(rank);
    devices.push_back({rank, tier, times.service, times.on_way, gives_first});
  }
  if (devices.empty())
    return make_error(Code::unavailable,
                      "tiers: no device has done a task; answer_timeout_s is " + format_seconds(timeout));
  return devices;
}

TierCosts costs_of(const InferJob& job, const BottomModels& bottom_models, std::size_t batches,
                   const std::vector<TierDispatch::Device>& devices) {
  TierCosts costs{.batches = batches, .tiers = {}, .levels = has_tier_exits(job) ? answers_of(job) : 0};
  if (job.accuracy_floor() > 0) costs.accuracy_floor = job.accuracy_floor();
  if (job.finish_by_s() > 0) costs.deadline = job.finish_by_s();
  for (int i = 0; i < job.tiers_size(); ++i) {
    const TierPart& part = job.tiers(i);
    TierCosts::Of& of = costs.tiers[static_cast<std::size_t>(tier_of(part))];
    of = mean_over(devices, tier_of(part));
    of.accuracy = part.accuracy();
    if (of.devices == 0) continue;
    const Seconds bottom = bottom_models.seconds(static_cast<std::size_t>(i));
    of.delay += bottom;
    of.service = std::max(of.service, static_cast<double>(of.devices) * bottom);
  }
  return costs;
}

}  // namespace mangrove::infer
