#include "mangrove/job/reports.h"

#include <utility>

#include "mangrove/job/json.h"
#include "mangrove/net/node_name.h"

namespace mangrove::job {

std::string Reports::node(net::Rank rank) const {
  return net::node_name(context_.endpoint, rank);
}

void Reports::send(const char* kind, const Json& json, std::string attachment) {
  context_.report({kind, dump(json), std::move(attachment)});
}

void Reports::event(const char* name, const Json& facts) {
  Json json = {{"event", name}};
  json.update(facts);
  send("event", json);
}

void Reports::progress(const char* phase, std::int64_t done, std::int64_t total, double images_per_s) {
  progress(phase, done, total, images_per_s, Json::object());
}

void Reports::progress(const char* phase, std::int64_t done, std::int64_t total, double images_per_s,
                       const Json& more) {
  Json json = {{"phase", phase}};
  json.update(more);
  json.update({{"done", done},
               {"total", total},
               {"images_per_s", images_per_s},
               {"eta_s", images_per_s > 0 ? static_cast<double>(total - done) / images_per_s : 0}});
  send("progress", json);
}

}  // namespace mangrove::job
