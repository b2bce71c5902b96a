#include "mangrove/cluster/node_event.h"

#include <cmath>

namespace mangrove::cluster {

NodeEvent::NodeEvent(const NodeEventKind& kind, const std::string& its_node, Seconds when, const std::string& why)
    : event(kind.name),
      node(its_node),
      time(std::round(when * 1000) / 1000),
      sentence(kind.before + its_node + kind.behind + job::because(why)),
      is_warning(kind.is_warning) {
  if (!why.empty()) message = why;
}

Report NodeEvent::report() const {
  return {ReportKind::event, dump(job::json_of(*this))};
}

}  // namespace mangrove::cluster
