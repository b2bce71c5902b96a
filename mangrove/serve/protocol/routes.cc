#include "mangrove/serve/protocol/routes.h"

#include <string>

#include "mangrove/serve/http/target.h"

namespace mangrove::serve {
namespace {

// A path of plain text stands before one that would take its place ("/v2/models/stats").
constexpr Route kRoutes[] = {
    {"GET", "/v2", Operation::describe_server, Right::look, "name, version and extensions of the server"},
    {"GET", "/v2/health/live", Operation::say_live, Right::none, "whether the server runs"},
    {"GET", "/v2/health/ready", Operation::say_ready, Right::none, "whether all models are ready"},
    {"GET", "/v2/models/stats", Operation::count_models, Right::look, "statistics of all models"},
    {"GET", "/v2/models/{model}", Operation::describe_model, Right::look, "inputs and outputs of a model"},
    {"GET", "/v2/models/{model}/versions/{version}", Operation::describe_model, Right::look,
     "inputs and outputs of a version"},
    {"GET", "/v2/models/{model}/ready", Operation::say_model_ready, Right::look, "whether a model is ready"},
    {"GET", "/v2/models/{model}/versions/{version}/ready", Operation::say_model_ready, Right::look,
     "whether a version is ready"},
    {"GET", "/v2/models/{model}/config", Operation::configure_model, Right::look, "configuration of a model"},
    {"GET", "/v2/models/{model}/versions/{version}/config", Operation::configure_model, Right::look,
     "configuration of a version"},
    {"GET", "/v2/models/{model}/stats", Operation::count_model, Right::look, "statistics of all versions of a model"},
    {"GET", "/v2/models/{model}/versions/{version}/stats", Operation::count_model, Right::look,
     "statistics of a version"},
    {"POST", "/v2/models/{model}/infer", Operation::infer, Right::infer, "ask the newest version of a model"},
    {"POST", "/v2/models/{model}/versions/{version}/infer", Operation::infer, Right::infer, "ask a version"},
    {"POST", "/v2/models/{model}/classify", Operation::classify, Right::infer,
     "the most probable classes of an image (JPEG, PNG, PPM, PGM)"},
    {"POST", "/v2/models/{model}/versions/{version}/classify", Operation::classify, Right::infer,
     "the most probable classes of an image, by a version"},
    {"POST", "/v2/repository/index", Operation::list_models, Right::look, "all models and versions, and their states"},
    {"POST", "/v2/repository/models/{model}/load", Operation::load_model, Right::manage,
     "load a model, or its new version"},
    {"POST", "/v2/repository/models/{model}/unload", Operation::unload_model, Right::manage, "unload a model"},
    {"POST", "/v2/repository/models/{model}/update", Operation::update_model, Right::manage,
     "change to another network, perhaps after a trial with a share of the requests"},
    {"GET", "/v2/repository/models/{model}", Operation::describe_service, Right::look,
     "versions of a model, their shares and latencies, and its last update"},
    {"GET", "/v2/openapi.json", Operation::describe_interface, Right::look, "this interface, as OpenAPI 3"},
    {"GET", "/metrics", Operation::export_metrics, Right::look, "counts and times, as Prometheus reads them"},
};

std::string value_of(const PathValues& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

Result<RouteMatch> find_route(std::string_view method, std::string_view target) {
  MG_TRY(const auto found,
         find_row_of(routes(), method, target, "GET /v2/openapi.json describes those that there are"));
  return RouteMatch{
      .route = found.route, .model = value_of(found.values, "model"), .version = value_of(found.values, "version")};
}

}  // namespace mangrove::serve
