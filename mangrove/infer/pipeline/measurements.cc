#include "mangrove/infer/pipeline/measurements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "mangrove/plan/layers.h"
#include "mangrove/plan/profile.h"

namespace mangrove::infer {
namespace {

constexpr int kProfileRounds = 10;  // timeouts that a node may take to measure its operators
constexpr int kLinkRounds = 2;      // and its link, without which a plan can be made too

using Take = std::function<bool(net::Rank, const FromNode&)>;

/// Gives nodes their commands, again after each timeout, until `take` has accepted an answer of each, or it is lost, or
/// the peer that its command names is. Returns those that have given no answer. These are no job::Requests: nobody else
/// can answer for a node, so its silence means nothing but that a message may have been lost, and an answer to any of
/// its commands will do.
Result<net::RankSet> ask_all(const job::RoleContext& context, NodeRoster& nodes, Seconds timeout, int rounds,
                             std::map<net::Rank, Command> commands, const Take& take) {
  const auto is_pointless = [&](const auto& entry) {
    const net::Rank peer = entry.second.peer();
    return !nodes.is_usable(entry.first) || (peer > 0 && !nodes.is_usable(peer));
  };
  for (int round = 0; round < rounds && !commands.empty(); ++round) {
    for (const auto& [rank, command] : commands) nodes.send(rank, command);
    const Deadline deadline = context.clock.after(timeout);
    while (!commands.empty() && context.clock.now() < deadline) {
      MG_TRY(const std::optional<NodeRoster::Said> said, nodes.next(deadline));
      if (said && commands.contains(said->rank) && take(said->rank, said->message)) commands.erase(said->rank);
      std::erase_if(commands, is_pointless);
    }
  }
  net::RankSet silent;
  for (const auto& [rank, command] : commands) silent.push_back(rank);
  return silent;
}

/// Sizes that make sense, of each operator.
bool has_memory(const Profile& profile) {
  const int operators = profile.operator_seconds_size();
  return profile.operator_weights_size() == operators && profile.operator_memory_size() == operators &&
         std::ranges::all_of(profile.operator_weights(), plan::is_size) &&
         std::ranges::all_of(profile.operator_memory(), plan::is_size) && plan::is_size(profile.process()) &&
         plan::is_size(profile.needed());
}

class Measuring {
 public:
  Measuring(const job::RoleContext& context, NodeRoster& nodes, Reports& reports, Seconds timeout)
      : context_(context), nodes_(nodes), reports_(reports), timeout_(timeout) {}

  Result<std::vector<DeviceProfile>> run() {
    const Instant start = context_.clock.now();
    while (context_.clock.now() - start <= kProfileRounds * timeout_) {
      MG_TRY(net::RankSet waiting, nodes_.wait_usable());
      MG_RETURN_IF_ERROR(measure_links(waiting));  // first: what they leave in a process counts to its memory
      while (!waiting.empty()) MG_RETURN_IF_ERROR(measure_operators(next_round(waiting)));
      std::vector<DeviceProfile> all;
      for (const auto& [rank, profile] : profiles_)
        if (nodes_.is_usable(rank) && !profile.operator_seconds.empty()) all.push_back(profile);
      if (!all.empty()) return all;
    }
    return make_error(Code::unavailable,
                      "profile: no node has done it; answer_timeout_s is " + format_seconds(timeout_));
  }

 private:
  /// Takes as many ranks as their machines have cores for.
  net::RankSet next_round(net::RankSet& waiting) const {
    std::map<std::string, double> free;
    net::RankSet round;
    std::erase_if(waiting, [&](net::Rank rank) {
      const Hello& hello = nodes_.hello(rank);
      const auto [cores, is_first] = free.emplace(hello.host(), hello.cpu());
      const bool has_room = is_first || cores->second >= hello.threads();
      if (has_room) {
        cores->second -= hello.threads();
        round.push_back(rank);
      }
      return has_room;
    });
    return round;
  }

  Status measure_operators(const net::RankSet& ranks) {
    Command command;
    command.set_kind(Command::PROFILE);
    command.set_request(1);
    std::map<net::Rank, Command> commands;
    for (const net::Rank rank : ranks) commands[rank] = command;
    MG_TRY(const net::RankSet silent,
           ask_all(context_, nodes_, timeout_, kProfileRounds, commands,
                   [&](net::Rank rank, const FromNode& message) { return take_profile(rank, message); }));
    for (const net::Rank rank : silent) nodes_.note_no_answer(rank);
    return {};
  }

  bool take_profile(net::Rank rank, const FromNode& message) {
    if (!message.has_profile() || !plan::is_measurement(message.profile().read_seconds())) return false;
    const Profile& profile = message.profile();
    const auto& seconds = profile.operator_seconds();
    if (seconds.empty() || !std::ranges::all_of(seconds, plan::is_measurement) || !has_memory(profile)) return false;
    const Hello& hello = nodes_.hello(rank);
    DeviceProfile& measured = profiles_[rank];
    measured.rank = rank;
    measured.name = reports_.node(rank);
    measured.host = hello.host();
    measured.cores = hello.cpu();
    measured.threads = hello.threads();
    measured.operator_seconds = {seconds.begin(), seconds.end()};
    measured.read_seconds = profile.read_seconds();
    measured.operator_weights = {profile.operator_weights().begin(), profile.operator_weights().end()};
    measured.operator_memory = {profile.operator_memory().begin(), profile.operator_memory().end()};
    measured.process = profile.process();
    measured.needed = profile.needed();
    measured.memory = hello.memory();
    measured.was_kept = profile.was_kept();
    nodes_.has_worked(rank);
    return true;
  }

  /// Of each rank to the next one.
  Status measure_links(const net::RankSet& ranks) {
    if (ranks.size() < 2) return {};
    std::map<net::Rank, Command> commands;
    net::Rank before = ranks.back();
    for (const net::Rank rank : ranks) {
      commands[before].set_kind(Command::LINK);
      commands[before].set_request(1);
      commands[before].set_peer(rank);
      before = rank;
    }
    const std::map<net::Rank, Command> links = commands;
    const auto asked =
        ask_all(context_, nodes_, timeout_, kLinkRounds, commands, [&](net::Rank rank, const FromNode& message) {
          return message.has_link() && take_link(rank, links.at(rank).peer(), message.link());
        });
    return asked.ok() ? Status() : Status(asked.error());  // a node without a link may do all the rest
  }

  bool take_link(net::Rank from, net::Rank to, const Link& link) {
    if (!std::isfinite(link.rate()) || link.rate() < 0 || !plan::is_measurement(link.round_trip()) ||
        !plan::is_measurement(link.byte_seconds()) || !plan::is_measurement(link.message_seconds()))
      return false;
    profiles_[from].byte_seconds = link.byte_seconds();
    profiles_[from].message_seconds = link.message_seconds();
    for (const net::Rank end : {from, to}) {
      DeviceProfile& profile = profiles_[end];
      const bool is_first = measured_[end]++ == 0;
      profile.round_trip = is_first ? link.round_trip() : std::min(profile.round_trip, link.round_trip());
      const bool is_limited = link.rate() > 0 && (is_first || profile.rate > 0);
      profile.rate = is_limited ? std::max(profile.rate, link.rate()) : 0;  // 0: faster than could be measured
    }
    return true;
  }

  const job::RoleContext& context_;
  NodeRoster& nodes_;
  Reports& reports_;
  const Seconds timeout_;
  std::map<net::Rank, DeviceProfile> profiles_;  // without operators: only its links are measured
  std::map<net::Rank, int> measured_;            // links of each
};

}  // namespace

Result<std::vector<DeviceProfile>> measure_devices(const job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                                                   Seconds timeout) {
  return Measuring(context, nodes, reports, timeout).run();
}

}  // namespace mangrove::infer
