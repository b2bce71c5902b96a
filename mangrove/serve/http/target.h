#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/suggestion.h"

namespace mangrove::serve {

/// What stands in the place of the {names} of a path's pattern.
using PathValues = std::map<std::string, std::string>;

/// Compares the path of a request's target, without what is behind "?", with a pattern such as
/// "/v2/models/{model}/infer". A "/" at the end changes nothing. Nothing: it is another path.
std::optional<PathValues> match_path(std::string_view pattern, std::string_view target);

/// A row of a table of routes whose path is that of a request, and what stands in the place of its {names}.
template <class Route>
struct RouteFound {
  const Route* route;
  PathValues values;
};

/// The first row for a call. A row has `method` and `path`, a pattern. known: where the paths are listed, for people.
/// errors: not_found (there is no such path); unimplemented (not with this method; names those that there are).
template <class Route>
Result<RouteFound<Route>> find_row_of(std::span<const Route> routes, std::string_view method, std::string_view target,
                                      const std::string& known) {
  std::vector<std::string> others;
  for (const Route& route : routes) {
    std::optional<PathValues> values = match_path(route.path, target);
    if (!values) continue;
    if (method == route.method) return RouteFound<Route>{.route = &route, .values = std::move(*values)};
    others.emplace_back(route.method);
  }
  if (others.empty()) return make_error(Code::not_found, "there is no such path; " + known);
  return make_error(Code::unimplemented, "this path takes " + join_words(others));
}

/// The value of a parameter behind "?". Nothing: it is not there. errors: invalid_argument (a "%" that is no
/// character).
Result<std::optional<std::string>> query_value(std::string_view target, std::string_view name);

}  // namespace mangrove::serve
