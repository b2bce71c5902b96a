#include "mangrove/cli/reports/node_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kLastSteps = 8;

/// 0 where there is none, or where it is no number.
double number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::int64_t count(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

const json& object_at(const json& object, const char* key) {
  static const json kNone = json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

const json& array_at(const json& object, const char* key) {
  static const json kNone = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

PhaseSeconds phases_of(const json& steps) {
  return {number(steps, "load_s"), number(steps, "compute_s"), number(steps, "encode_s"), number(steps, "wire_s"),
          number(steps, "wait_s")};
}

PhaseSeconds operator-(const PhaseSeconds& a, const PhaseSeconds& b) {
  return {a.load - b.load, a.compute - b.compute, a.encode - b.encode, a.wire - b.wire, a.wait - b.wait};
}

void add(PhaseSeconds& to, const PhaseSeconds& more) {
  to = {to.load + more.load, to.compute + more.compute, to.encode + more.encode, to.wire + more.wire,
        to.wait + more.wait};
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Follows the samples of one node.
class Follower {
 public:
  explicit Follower(const std::string& name) { history_.name = name; }

  /// `begin`: when the sample's job began.
  void take(const json& sample, double begin) {
    if (const std::string job = text_at(sample, "job"); job != job_) {
      job_ = job;
      before_ = {};
      before_.time = begin;
    }
    Counters now{
        begin + number(sample, "time_s"), number(sample, "sent_bytes"), number(sample, "received_bytes"), {}, {}};
    take_use(sample, now);
    take_traffic(sample, now);
    take_steps(object_at(sample, "steps"), begin, now);
    before_ = std::move(now);
  }

  NodeHistory history() && { return std::move(history_); }

 private:
  /// Since the job began.
  struct Counters {
    double time = 0, sent = 0, received = 0;
    std::map<std::string, net::Flow> by_purpose;
    PhaseSeconds phases;
    std::int64_t steps = 0;
  };

  void take_use(const json& sample, const Counters& now) {
    history_.cpu.emplace_back(now.time, number(sample, "cpu_percent"));
    history_.memory.emplace_back(now.time, number(sample, "rss_bytes") / 1e6);
    double busy = 0;
    const json& cores = array_at(sample, "core_percent");
    for (const json& core : cores) busy += core.is_number() ? core.get<double>() : 0;
    if (!cores.empty()) history_.cores.emplace_back(now.time, busy / static_cast<double>(cores.size()));
    if (sample.contains("temperature_c")) history_.temperature.emplace_back(now.time, number(sample, "temperature_c"));
    const double seconds = now.time - before_.time;
    if (seconds <= 0) return;
    history_.sent.emplace_back(now.time, (now.sent - before_.sent) / seconds / 1e6);
    history_.received.emplace_back(now.time, (now.received - before_.received) / seconds / 1e6);
  }

  void take_traffic(const json& sample, Counters& now) {
    for (const json& flow : array_at(sample, "traffic")) {
      if (!flow.is_object()) continue;
      now.by_purpose[text_at(flow, "purpose")] += {count(flow, "sent_bytes"), count(flow, "received_bytes")};
    }
    for (const auto& [purpose, bytes] : now.by_purpose) {
      const net::Flow& before = before_.by_purpose[purpose];
      history_.by_purpose[purpose] +=
          {bytes.sent_bytes - before.sent_bytes, bytes.received_bytes - before.received_bytes};
    }
  }

  /// A role has no steps before it begins, and none after it has ended.
  void take_steps(const json& steps, double begin, Counters& now) {
    now.phases = steps.empty() ? before_.phases : phases_of(steps);
    now.steps = steps.empty() ? before_.steps : count(steps, "count");
    if (now.steps > before_.steps) {
      const PhaseSeconds more = now.phases - before_.phases;
      history_.steps += now.steps - before_.steps;
      add(history_.total, more);
      history_.intervals.push_back({before_.time, now.time, more});
    }
    for (const json& step : array_at(steps, "recent")) {
      if (!step.is_object()) continue;
      history_.last_steps.push_back({begin + number(step, "time_s"), phases_of(step)});
    }
    if (history_.last_steps.size() > kLastSteps)
      history_.last_steps.erase(history_.last_steps.begin(), history_.last_steps.end() - kLastSteps);
  }

  NodeHistory history_;
  std::string job_;
  Counters before_;  // in the last sample of this job
};

}  // namespace

std::vector<NodeHistory> node_histories(const std::vector<json>& metrics) {
  std::vector<Follower> followers;
  std::map<std::string, std::size_t> place;
  std::map<std::string, double> begins;  // of the jobs
  double latest = 0;
  for (const json& line : metrics) {
    if (!line.is_object() || text_at(line, "kind") != "sample") continue;
    const std::string name = text_at(line, "node");
    const double begin = begins.emplace(text_at(line, "job"), latest).first->second;
    const auto [entry, is_new] = place.emplace(name, followers.size());
    if (is_new) followers.emplace_back(name);
    followers[entry->second].take(line, begin);
    latest = std::max(latest, begin + number(line, "time_s"));
  }
  std::vector<NodeHistory> histories;
  for (Follower& follower : followers) histories.push_back(std::move(follower).history());
  return histories;
}

}  // namespace mangrove::cli
