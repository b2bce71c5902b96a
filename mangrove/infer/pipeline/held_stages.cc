#include "mangrove/infer/pipeline/held_stages.h"

#include <algorithm>
#include <set>

#include "mangrove/graph/cut.h"

namespace mangrove::infer {

bool makes_sense(const Command& command, const Graph& graph, int ranks) {
  std::size_t position = 0;
  for (const StagePlace& place : command.stages()) {
    if (place.first() != position || place.last() <= place.first()) return false;
    const auto is_node = [&](net::Rank rank) { return rank >= 1 && rank < ranks; };
    if (place.ranks().empty() || !std::ranges::all_of(place.ranks(), is_node)) return false;
    position = place.last();
  }
  return position == graph.nodes().size() && static_cast<std::size_t>(command.order_size()) == position;
}

std::string HeldStages::key(const Command& command, const StagePlace& place) {
  std::string text = std::to_string(place.first()) + ':';
  for (std::uint32_t i = 0; i < place.last(); ++i) text += std::to_string(command.order(static_cast<int>(i))) + ' ';
  return text;
}

Status HeldStages::place(const Command& command, const Graph& graph) {
  const std::vector<std::uint32_t> order(command.order().begin(), command.order().end());
  MG_TRY(const Graph ordered, in_order(graph, order));
  std::map<std::size_t, std::string> keys;  // of the stages that are here
  by_number_.clear();
  places_.assign(command.stages().begin(), command.stages().end());
  for (std::size_t s = 0; s < places_.size(); ++s)
    if (std::ranges::count(places_[s].ranks(), rank_) > 0) keys[s] = key(command, places_[s]);
  std::set<std::string> kept;
  for (const auto& [s, own] : keys) kept.insert(own);
  parts_.keep(kept);
  for (const auto& [s, own] : keys) {
    const StagePlace& place = places_[s];
    MG_TRY(by_number_[s], parts_.get(own, [&] {
      return CompiledStage::create(ordered, place.first(), place.last(), options_, load_);
    }));
  }
  return {};
}

bool HeldStages::fits(const Route& route) const {
  if (static_cast<std::size_t>(route.size()) != places_.size()) return false;
  for (int s = 0; s < route.size(); ++s)
    if (std::ranges::count(places_[static_cast<std::size_t>(s)].ranks(), route[s]) == 0) return false;
  return true;
}

CompiledStage* HeldStages::find(std::size_t stage) const {
  const auto found = by_number_.find(stage);
  return found == by_number_.end() ? nullptr : found->second;
}

}  // namespace mangrove::infer
