#include "mangrove/cluster/cluster_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mangrove/cluster/straggler.h"

namespace mangrove::cluster {
namespace {

using nlohmann::json;

json parsed(const std::string& text) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_object() ? object : json();
}

json steps_json(const NodeStatus& node) {
  const StepSeconds step = recent_step(node);
  return {{"count", node.use().steps().count()}, {"load_s", step.load()}, {"compute_s", step.compute()},
          {"encode_s", step.encode()},           {"wire_s", step.wire()}, {"wait_s", step.wait()}};
}

json node_json(const NodeStatus& node, const ListNodesResponse& status) {
  const auto& use = node.use();
  json roles = json::array();
  for (const NodeRole& role : node.roles())
    roles.push_back({{"job", role.job_id()}, {"role", role_text(role, status)}});
  json object = {
      {"name", node.description().name()},
      {"state", node.state()},
      {"address", node.description().address()},
      {"labels", std::vector<std::string>(node.description().labels().begin(), node.description().labels().end())},
      {"roles", roles},
      {"heartbeat_age_s", node.heartbeat_age()},
      {"cores", node.description().cores()},
      {"cpu_percent", use.cpu_percent()},
      {"core_percent", std::vector<float>(use.core_percent().begin(), use.core_percent().end())},
      {"memory_bytes", node.description().memory_bytes()},
      {"rss_bytes", use.rss_bytes()},
      {"minor_faults", use.minor_faults()},
      {"major_faults", use.major_faults()},
      {"sent_per_s", node.sent_per_s()},
      {"received_per_s", node.received_per_s()},
      {"steps", steps_json(node)}};
  if (use.has_temperature_c()) object["temperature_c"] = use.temperature_c();
  return object;
}

}  // namespace

StepSeconds recent_step(const NodeStatus& node) {
  StepSeconds mean;
  const auto& recent = node.use().steps().recent();
  const auto count = static_cast<double>(recent.size());
  for (const StepSeconds& step : recent) {
    mean.set_load(mean.load() + step.load() / count);
    mean.set_compute(mean.compute() + step.compute() / count);
    mean.set_encode(mean.encode() + step.encode() / count);
    mean.set_wire(mean.wire() + step.wire() / count);
    mean.set_wait(mean.wait() + step.wait() / count);
  }
  return mean;
}

Seconds load_and_compute(const NodeStatus& node) {
  const StepSeconds step = recent_step(node);
  return step.load() + step.compute();
}

std::optional<std::size_t> straggler_of(const ListNodesResponse& status) {
  std::vector<Seconds> compute;
  for (const NodeStatus& node : status.nodes()) compute.push_back(node.state() == "alive" ? load_and_compute(node) : 0);
  return straggler(compute);
}

std::string role_text(const NodeRole& role, const ListNodesResponse& status) {
  const auto job = std::ranges::find(status.jobs(), role.job_id(), [](const auto& one) { return one.id(); });
  const bool trains = job != status.jobs().end() && job->kind() == "train";
  return std::string(trains ? "worker " : "stages ") + std::to_string(role.rank());
}

std::vector<RankedNode> nodes_of(const std::string& job, const ListNodesResponse& status) {
  std::vector<RankedNode> nodes;
  for (const NodeStatus& node : status.nodes())
    for (const NodeRole& role : node.roles())
      if (role.job_id() == job) nodes.push_back({node.description().name(), role.rank()});
  return nodes;
}

json cluster_json(const std::string& coordinator, const ListNodesResponse& status) {
  json jobs = json::array(), straggler, nodes = json::array(), refused = json::object();
  for (const CurrentJob& job : status.jobs())
    jobs.push_back({{"id", job.id()},
                    {"kind", job.kind()},
                    {"strategy", job.strategy()},
                    {"state", job.state()},
                    {"priority", job.priority()},
                    {"share", job.share()},
                    {"progress", parsed(job.progress())}});
  if (const auto slowest = straggler_of(status))
    straggler = status.nodes(static_cast<int>(*slowest)).description().name();
  for (const NodeStatus& node : status.nodes()) nodes.push_back(node_json(node, status));
  for (const auto& [name, count] : status.refused()) refused[name] = count;
  return {
      {"coordinator", coordinator}, {"jobs", jobs}, {"straggler", straggler}, {"nodes", nodes}, {"refused", refused}};
}

json job_json(const JobStatus& job) {
  return {{"id", job.id()},         {"title", job.title()}, {"state", job.state()}, {"priority", job.priority()},
          {"starts", job.starts()}, {"epoch", job.epoch()}, {"step", job.step()},   {"message", job.message()},
          {"began", job.began()},   {"ended", job.ended()}, {"nodes", job.nodes()}, {"owner", job.owner()}};
}

bool is_service(const JobStatus& job) {
  return job.title().starts_with(kServiceTitle);
}

json live_job_json(const std::string& id, const ListNodesResponse& status) {
  const auto job = std::ranges::find(status.jobs(), id, [](const CurrentJob& one) { return one.id(); });
  if (job == status.jobs().end()) return nullptr;
  json roles = json::array();
  for (const RankedNode& node : nodes_of(id, status)) roles.push_back({{"name", node.name}, {"rank", node.rank}});
  return {{"share", job->share()}, {"roles", std::move(roles)}, {"progress", parsed(job->progress())}};
}

json member_json(const MemberStatus& member) {
  return {{"name", member.name()},          {"role", member.role()},       {"state", member.state()},
          {"since", member.since()},        {"expires", member.expires()}, {"invitation", member.invitation()},
          {"uses_left", member.uses_left()}};
}

}  // namespace mangrove::cluster
