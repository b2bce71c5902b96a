#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/serve/http/target.h"

namespace mangrove::dashboard {

/// What a call does.
enum class Operation {
  describe_session,
  show_cluster,
  stream_cluster,
  list_jobs,
  show_job,
  list_events,
  stream_job,
  fetch_model,
  start_job,
  stop_job,
  describe_keys,
  list_members,
  invite,
  revoke,
  export_metrics,
};

/// What a call needs: somebody with a higher right has the lower ones too.
enum class Right {
  look,    // viewers
  act,     // clients: start jobs, and stop their own
  manage,  // admins: who belongs to the cluster
};

/// A call of the dashboard's interface; docs/dashboard.md lists the same.
struct Route {
  const char* method;
  const char* path;  // with {job}, {command} and {member} for one segment each
  Operation operation;
  Right right;
};
std::span<const Route> routes();

using RouteMatch = serve::RouteFound<Route>;
/// errors: those of serve::find_row_of().
Result<RouteMatch> find_route(std::string_view method, std::string_view target);

}  // namespace mangrove::dashboard
