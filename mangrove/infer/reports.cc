#include "mangrove/infer/reports.h"

#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"
#include "mangrove/net/node_name.h"

namespace mangrove::infer {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string Reports::node(net::Rank rank) const {
  return net::node_name(context_.endpoint, rank);
}

void Reports::event(std::string json) {
  context_.report({"event", std::move(json), {}});
}

void Reports::progress(const char* phase, std::int64_t done, std::int64_t total, Seconds seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const Json json = {{"phase", phase},
                     {"done", done},
                     {"total", total},
                     {"images_per_s", rate},
                     {"eta_s", rate > 0 ? static_cast<double>(total - done) / rate : 0}};
  context_.report({"progress", dump(json), {}});
}

void Reports::stage_moved(std::size_t stage, net::Rank from, net::Rank to) {
  event(dump(Json{{"event", "stage_moved"}, {"stage", stage}, {"from", node(from)}, {"to", node(to)}}));
}

void Reports::replanned(const StagePlan& plan) {
  new_plan("replanned", plan);
}

void Reports::revised(const StagePlan& plan) {
  new_plan("revised", plan);
}

void Reports::new_plan(const char* name, const StagePlan& plan) {
  Json stages = Json::array();
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const StagePlan::Replica& replica : plan.stages[s].replicas)
      stages.push_back({{"stage", s}, {"node", node(replica.rank)}, {"operators", plan.stages[s].operators.size()}});
  event(dump(Json{{"event", name}, {"stages", std::move(stages)}}));
}

void Reports::node_left_out(net::Rank rank, const std::string& reason) {
  event(dump(Json{{"event", "node_left_out"}, {"node", node(rank)}, {"reason", reason}}));
}

void Reports::redone(const char* phase, net::Rank rank) {
  event(dump(Json{{"event", "redone"}, {"phase", phase}, {"node", node(rank)}}));
}

void Reports::scheduler_switched(std::string_view from, std::string_view to, Seconds seconds) {
  event(dump(Json{{"event", "scheduler_switched"}, {"from", from}, {"to", to}, {"at_s", seconds}}));
}

void Reports::answers(Json answers) {
  context_.report({"answers", dump(Json{{"answers", std::move(answers)}}), {}});
}

void Reports::tier_answers(std::string json) {
  context_.report({"tier_answers", std::move(json), {}});
}

void Reports::view_lost(std::size_t view, net::Rank rank, const std::string& reason) {
  event(dump(Json{{"event", "view_lost"}, {"view", view + 1}, {"node", node(rank)}, {"reason", reason}}));
}

void Reports::view_answers(std::string json) {
  context_.report({"view_answers", std::move(json), {}});
}

void Reports::result(std::string json) {
  context_.report({"result", std::move(json), {}});
}

}  // namespace mangrove::infer
