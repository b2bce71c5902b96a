#include "mangrove/infer/reports.h"

#include <nlohmann/json.hpp>

#include "mangrove/net/node_name.h"

namespace mangrove::infer {
namespace {

using Json = nlohmann::ordered_json;

/// Names come from other machines: bytes that are not UTF-8 are replaced.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double per_second(std::int64_t images, Seconds seconds) {
  return seconds > 0 ? static_cast<double>(images) / seconds : 0;
}

}  // namespace

std::string Reports::node(net::Rank rank) const {
  return net::node_name(context_.endpoint, rank);
}

void Reports::event(std::string json) {
  context_.report({"event", std::move(json), {}});
}

void Reports::progress(const char* phase, std::int64_t done, std::int64_t total, Seconds seconds) {
  const double rate = per_second(done, seconds);
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

void Reports::node_left_out(net::Rank rank, const std::string& reason) {
  event(dump(Json{{"event", "node_left_out"}, {"node", node(rank)}, {"reason", reason}}));
}

void Reports::redone(const char* phase, net::Rank rank) {
  event(dump(Json{{"event", "redone"}, {"phase", phase}, {"node", node(rank)}}));
}

void Reports::result(const Result& r) {
  Json stages = Json::array();
  for (const Stage& stage : r.stages) {
    stages.push_back({{"node", node(stage.rank)},
                      {"operators", stage.plan.operators},
                      {"seconds", stage.seconds},
                      {"utilisation", r.seconds > 0 ? stage.seconds / r.seconds : 0},
                      {"predicted_seconds", stage.predicted_seconds},
                      {"sent_bytes", stage.sent_bytes},
                      {"bytes_per_image", stage.plan.bytes_per_image}});
  }
  const double rate = per_second(r.images, r.seconds), single_rate = per_second(r.images, r.single_seconds);
  const Json json = {{"images", r.images},
                     {"accuracy", r.accuracy},
                     {"macro_f1", r.macro_f1},
                     {"images_per_s", rate},
                     {"single_images_per_s", single_rate},
                     {"speedup", single_rate > 0 ? rate / single_rate : 0},
                     {"agreement", r.agreement},
                     {"lost", r.lost},
                     {"duplicated", r.duplicated},
                     {"repeated", r.repeated},
                     {"seconds", r.seconds},
                     {"micro_batch", r.micro_batch},
                     {"window", r.window},
                     {"stages", std::move(stages)},
                     {"predicted_images_per_s", per_second(r.images, r.predicted_seconds)},
                     {"predicted_seconds", r.predicted_seconds}};
  context_.report({"result", dump(json), {}});
}

}  // namespace mangrove::infer
