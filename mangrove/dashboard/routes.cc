#include "mangrove/dashboard/routes.h"

namespace mangrove::dashboard {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/session", Operation::describe_session, Right::look},
    {"GET", "/api/v1/cluster", Operation::show_cluster, Right::look},
    {"GET", "/api/v1/cluster/stream", Operation::stream_cluster, Right::look},
    {"GET", "/api/v1/jobs", Operation::list_jobs, Right::look},
    {"POST", "/api/v1/jobs", Operation::start_job, Right::act},
    {"GET", "/api/v1/jobs/{job}", Operation::show_job, Right::look},
    {"GET", "/api/v1/jobs/{job}/events", Operation::list_events, Right::look},
    {"GET", "/api/v1/jobs/{job}/stream", Operation::stream_job, Right::look},
    {"GET", "/api/v1/jobs/{job}/model", Operation::fetch_model, Right::look},
    {"POST", "/api/v1/jobs/{job}/stop", Operation::stop_job, Right::act},
    {"GET", "/api/v1/keys/{command}", Operation::describe_keys, Right::look},
    {"GET", "/api/v1/members", Operation::list_members, Right::manage},
    {"POST", "/api/v1/members/{member}/revoke", Operation::revoke, Right::manage},
    {"POST", "/api/v1/invitations", Operation::invite, Right::manage},
    {"GET", "/metrics", Operation::export_metrics, Right::look},
};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

Result<RouteMatch> find_route(std::string_view method, std::string_view target) {
  return serve::find_row_of(routes(), method, target, "docs/dashboard.md lists them");
}

}  // namespace mangrove::dashboard
