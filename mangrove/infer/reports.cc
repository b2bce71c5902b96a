#include "mangrove/infer/reports.h"

#include "mangrove/job/json.h"

namespace mangrove::infer {

double per_second(std::int64_t images, Seconds seconds) {
  return seconds > 0 ? static_cast<double>(images) / seconds : 0;
}

void Reports::stage_moved(std::size_t stage, net::Rank from, net::Rank to) {
  event("stage_moved", {{"stage", stage}, {"from", node(from)}, {"to", node(to)}});
}

void Reports::replanned(const Json& stages) {
  event("replanned", {{"stages", stages}});
}

void Reports::revised(const Json& stages) {
  event("revised", {{"stages", stages}});
}

void Reports::node_left_out(const std::string& names, const std::string& reason) {
  event("node_left_out", {{"node", names}, {"reason", reason}});
}

void Reports::redone(const char* phase, net::Rank rank) {
  event("redone", {{"phase", phase}, {"node", node(rank)}});
}

void Reports::scheduler_switched(std::string_view from, std::string_view to, Seconds seconds) {
  event("scheduler_switched", {{"from", from}, {"to", to}, {"at_s", seconds}});
}

void Reports::answers(const Json& answers) {
  send("answers", {{"answers", answers}});
}

void Reports::stage_load(const Json& line) {
  send("stage_load", line);
}

void Reports::tier_answers(const Json& line) {
  send("tier_answers", line);
}

void Reports::view_lost(std::size_t view, net::Rank rank, const std::string& reason) {
  event("view_lost", {{"view", view + 1}, {"node", node(rank)}, {"reason", reason}});
}

void Reports::view_answers(const Json& line) {
  send("view_answers", line);
}

void Reports::result(const Json& json) {
  send("result", json);
}

}  // namespace mangrove::infer
