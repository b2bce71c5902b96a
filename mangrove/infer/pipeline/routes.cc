#include "mangrove/infer/pipeline/routes.h"

#include <algorithm>
#include <utility>

namespace mangrove::infer {

void Routes::begin(const StagePlan& plan) {
  on_the_way_.clear();
  stages_.clear();
  for (const StagePlan::Stage& stage : plan.stages) {
    std::vector<Holder>& holders = stages_.emplace_back();
    for (const StagePlan::Replica& replica : stage.replicas)
      holders.push_back({.rank = replica.rank, .busy = replica.busy});
  }
}

Routes::Route Routes::choose(std::uint64_t micro_batch) {
  finish(micro_batch);
  Route route;
  bool has_suspect = false;
  for (const std::vector<Holder>& holders : stages_) {
    const Holder& soonest = *std::ranges::min_element(holders, {}, [&](const Holder& holder) {
      return std::pair(has_suspect && holder.is_suspect(), (holder.on_the_way + 1) * holder.busy);
    });
    has_suspect = has_suspect || soonest.is_suspect();
    route.push_back(soonest.rank);
  }
  add(micro_batch, route);
  return route;
}

void Routes::add(std::uint64_t micro_batch, const Route& route) {
  for (std::size_t s = 0; s < stages_.size(); ++s) ++find(s, route[s])->on_the_way;
  on_the_way_.emplace(micro_batch, route);
}

void Routes::end_ways(std::uint64_t micro_batch, const std::function<bool(const Route&)>& is_over) {
  const auto [begin, end] = on_the_way_.equal_range(micro_batch);
  for (auto way = begin; way != end;) {
    if (!is_over(way->second)) {
      ++way;
      continue;
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) --find(s, way->second[s])->on_the_way;
    way = on_the_way_.erase(way);
  }
}

void Routes::finish(std::uint64_t micro_batch) {
  end_ways(micro_batch, [](const Route&) { return true; });
}

void Routes::answered(std::uint64_t micro_batch, const Route& route, Instant now) {
  for (std::size_t s = 0; s < stages_.size(); ++s) came_back(s, route[s], now);
  end_ways(micro_batch, [&](const Route& way) { return way == route; });
}

void Routes::dropped(std::uint64_t micro_batch, net::Rank rank) {
  end_ways(micro_batch, [&](const Route& way) { return std::ranges::count(way, rank) > 0; });
}

void Routes::overdue(std::uint64_t micro_batch, Instant now, Seconds timeout) {
  const auto [begin, end] = on_the_way_.equal_range(micro_batch);
  for (auto way = begin; way != end; ++way) {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      Holder& holder = *find(s, way->second[s]);
      if (holder.is_suspect() && now - holder.last_strike < timeout) continue;
      if (!holder.is_suspect()) holder.first_strike = now;
      holder.last_strike = now;
      ++holder.strikes;
    }
  }
  finish(micro_batch);
}

void Routes::came_back(std::size_t stage, net::Rank rank, Instant now) {
  Holder* const holder = find(stage, rank);
  if (holder == nullptr) return;
  holder->strikes = 0;
  holder->came_back = now;
}

std::optional<net::Rank> Routes::mute() const {
  for (const std::vector<Holder>& holders : stages_) {
    for (const Holder& holder : holders) {
      const auto answers = [&](const Holder& other) {
        return !other.is_suspect() && other.came_back && *other.came_back > holder.first_strike;
      };
      if (holder.strikes >= kStrikes && std::ranges::any_of(holders, answers)) return holder.rank;
    }
  }
  return std::nullopt;
}

Routes::Holder* Routes::find(std::size_t stage, net::Rank rank) {
  const auto found = std::ranges::find(stages_[stage], rank, &Holder::rank);
  return found == stages_[stage].end() ? nullptr : &*found;
}

void Routes::learn(std::size_t stage, net::Rank rank, Seconds busy) {
  constexpr double kWeight = 0.2;
  constexpr double kMost = 2;  // times what is expected: one long pause must not keep a replica from the next ones
  const auto holder = std::ranges::find(stages_[stage], rank, &Holder::rank);
  if (holder != stages_[stage].end() && busy > 0)
    holder->busy += kWeight * (std::min(busy, kMost * holder->busy) - holder->busy);
}

}  // namespace mangrove::infer
