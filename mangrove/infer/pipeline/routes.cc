#include "mangrove/infer/pipeline/routes.h"

#include <algorithm>
#include <utility>

namespace mangrove::infer {

void Routes::begin(const StagePlan& plan) {
  on_the_way_.clear();
  stages_.clear();
  for (const StagePlan::Stage& stage : plan.stages) {
    std::vector<Holder>& holders = stages_.emplace_back();
    for (const StagePlan::Replica& replica : stage.replicas) holders.push_back({replica.rank, replica.busy});
  }
}

const Routes::Route& Routes::choose(std::uint64_t micro_batch) {
  finish(micro_batch);
  Route route;
  for (std::vector<Holder>& holders : stages_) {
    Holder& soonest = *std::ranges::min_element(
        holders, {}, [](const Holder& holder) { return (holder.on_the_way + 1) * holder.busy; });
    ++soonest.on_the_way;
    route.push_back(soonest.rank);
  }
  return on_the_way_[micro_batch] = std::move(route);
}

void Routes::finish(std::uint64_t micro_batch) {
  const auto found = on_the_way_.find(micro_batch);
  if (found == on_the_way_.end()) return;
  for (std::size_t s = 0; s < stages_.size(); ++s)
    --std::ranges::find(stages_[s], found->second[s], &Holder::rank)->on_the_way;
  on_the_way_.erase(found);
}

void Routes::learn(std::size_t stage, net::Rank rank, Seconds busy) {
  constexpr double kWeight = 0.2;
  constexpr double kMost = 2;  // times what is expected: one long pause must not keep a replica from the next ones
  const auto holder = std::ranges::find(stages_[stage], rank, &Holder::rank);
  if (holder != stages_[stage].end() && busy > 0)
    holder->busy += kWeight * (std::min(busy, kMost * holder->busy) - holder->busy);
}

}  // namespace mangrove::infer
