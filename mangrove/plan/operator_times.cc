#include "mangrove/plan/operator_times.h"

#include "mangrove/graph/operator.h"
#include "mangrove/plan/cost_model.h"

namespace mangrove::plan {
namespace {

/// A measured time for another size, as the model sees the difference; in proportion where it sees nothing.
Seconds rescaled(Seconds measured, Seconds modelled, Seconds modelled_now, double samples_ratio) {
  return modelled > 0 ? measured * modelled_now / modelled : measured * samples_ratio;
}

}  // namespace

std::vector<OperatorProfile> operators_of(const Graph& graph, std::int64_t batch) {
  std::vector<OperatorProfile> operators;
  for (const Node& node : graph.nodes()) {
    const OperatorCost cost = node_cost(graph, node, batch);
    operators.push_back({node.name, node.op, cost.flops, cost.read + cost.written});
  }
  return operators;
}

Result<OperatorTimes> operator_times(const Graph& graph, std::int64_t batch, const Profile& profile, bool training) {
  if (training && !profile.training)
    return make_error(Code::invalid_argument,
                      "the profile of '" + profile.model + "' is of inference: training needs backward times");
  const CostModel model(profile);
  const double ratio = static_cast<double>(batch) / static_cast<double>(profile.batch);
  std::vector<OperatorProfile> operators = operators_of(graph, batch);
  OperatorTimes times;
  for (OperatorProfile& one : operators) {
    const OperatorProfile modelled = model.predicted(one);
    const OperatorProfile* measured = profile.find(one.name);
    if (measured == nullptr || measured->kind != one.kind) {
      ++times.predicted;
      one = modelled;
    } else if (measured->flops == one.flops && measured->moved == one.moved) {
      one = *measured;
    } else {
      const OperatorProfile then = model.predicted(*measured);
      one.forward = rescaled(measured->forward, then.forward, modelled.forward, ratio);
      one.backward = rescaled(measured->backward, then.backward, modelled.backward, ratio);
    }
  }
  for (const OperatorProfile& one : operators) times.seconds.push_back(one.forward + (training ? one.backward : 0));
  return times;
}

}  // namespace mangrove::plan
