#include "mangrove/engine/operation_limit.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "mangrove/base/format.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

constexpr double kMostOperations = 1e13;  // ResNet-50 with a batch of 1,200; minutes on a core
constexpr const char* kVariable = "MANGROVE_MAX_OPERATIONS";

double most_operations() {
  const char* const given = std::getenv(kVariable);
  if (given == nullptr) return kMostOperations;
  const std::string_view text = given;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() && number > 0 ? number : kMostOperations;
}

}  // namespace

Status check_operations(const Graph& graph, std::int64_t batch) {
  double operations = 0;
  for (const Node& node : graph.nodes()) operations += node_cost(graph, node, batch).flops;
  const double most = most_operations();
  if (operations <= most) return {};
  return make_error(Code::resource_exhausted, "graph '" + graph.name() + "' takes " + format_number(operations) +
                                                  " operations for a batch of " + std::to_string(batch) + "; at most " +
                                                  format_number(most) +
                                                  " are done at once: take a smaller batch, or raise " + kVariable);
}

}  // namespace mangrove
