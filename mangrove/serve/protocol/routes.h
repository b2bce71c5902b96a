#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/serve/protocol/access.h"

namespace mangrove::serve {

/// What a call of REST does.
enum class Operation {
  describe_server,
  say_live,
  say_ready,
  describe_model,
  say_model_ready,
  configure_model,
  count_model,
  count_models,
  infer,
  classify,
  list_models,
  load_model,
  unload_model,
  update_model,
  describe_service,
  describe_interface,
  export_metrics,
};

/// A call of REST: the whole list is in routes.cc, and the page that describes the interface is written from it.
struct Route {
  const char* method;
  const char* path;  // with {model} and {version} for one segment each
  Operation operation;
  Right right;
  const char* summary;
};
std::span<const Route> routes();

/// A call, as a client means it.
struct RouteMatch {
  const Route* route;
  std::string model, version;  // "": the path has none
};

/// The route of a call, without what is behind "?". A "/" at the end changes nothing.
/// errors: not_found (there is no such path); unimplemented (not with this method; names those that there are).
Result<RouteMatch> find_route(std::string_view method, std::string_view target);

}  // namespace mangrove::serve
