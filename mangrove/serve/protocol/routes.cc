#include "mangrove/serve/protocol/routes.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "mangrove/base/suggestion.h"

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
    {"GET", "/v2/openapi.json", Operation::describe_interface, Right::look, "this interface, as OpenAPI 3"},
    {"GET", "/metrics", Operation::export_metrics, Right::look, "counts and times, as Prometheus reads them"},
};

Result<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    const bool has_digits = text.size() - i > 2;
    if (!has_digits || std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2)
      return make_error(Code::invalid_argument, "a '%' in the address has no two hexadecimal digits behind it");
    decoded += static_cast<char>(code);
    i += 2;
  }
  return decoded;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view path_of(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

/// Nothing: the path is another one.
std::optional<RouteMatch> match(const Route& route, const std::vector<std::string_view>& segments) {
  const std::vector<std::string_view> wanted = split(route.path, '/');
  if (wanted.size() != segments.size()) return std::nullopt;
  RouteMatch found{.route = &route, .model = {}, .version = {}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Result<std::string> segment = percent_decoded(segments[i]);
    if (!segment.ok()) return std::nullopt;
    if (wanted[i] == "{model}" && !segment->empty())
      found.model = *segment;
    else if (wanted[i] == "{version}" && !segment->empty())
      found.version = *segment;
    else if (wanted[i] != *segment)
      return std::nullopt;
  }
  return found;
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

Result<RouteMatch> find_route(std::string_view method, std::string_view target) {
  const std::vector<std::string_view> segments = split(path_of(target), '/');
  std::vector<std::string> others;
  for (const Route& route : kRoutes) {
    std::optional<RouteMatch> found = match(route, segments);
    if (!found) continue;
    if (method == route.method) return std::move(*found);
    others.emplace_back(route.method);
  }
  if (others.empty())
    return make_error(Code::not_found, "there is no such path; GET /v2/openapi.json describes those that there are");
  return make_error(Code::unimplemented, "this path takes " + join_words(others));
}

Result<std::optional<std::string>> query_value(std::string_view target, std::string_view name) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return std::optional<std::string>();
  for (const std::string_view pair : split(target.substr(question + 1), '&')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    MG_TRY(std::string value, percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
    return std::optional<std::string>(std::move(value));
  }
  return std::optional<std::string>();
}

}  // namespace mangrove::serve
