#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/place/copy_latencies.h"
#include "mangrove/place/federation/master.h"

namespace mangrove::place {
namespace {

constexpr double kNoEnd = std::numeric_limits<double>::infinity();

}  // namespace

Master::Master(const Problem& outline, const Objective& objective)
    : outline_(outline), objective_(objective), goods_(outline), bids_(outline.scenario().devices.size()) {
  measures_.resize(measures().size());
  claims_.assign(outline.parts().size(), kNowhere);
  for (std::size_t m = 0; m < Goods::kMeasures.size(); ++m)
    measure(Goods::kMeasures[m]) = sum_of_domains(goods_.measure(m));
  add_parts();
  ways_.resize(outline.flows().size());
  for (std::size_t f = 0; f < outline.flows().size(); ++f) add_flow(f);
  add_links();
  add_sharing();
  add_latencies();
  for (const Objective::Level& level : objective.levels) {
    Sum& sum = levels_.emplace_back();
    for (const Objective::Term& term : level) sum.add(measure(term.measure->value), term.weight);
  }
}

void Master::Sum::add(const Sum& other, double factor) {
  for (const auto& [good, amount] : other.goods) goods.emplace_back(good, factor * amount);
  for (const auto& [column, amount] : other.columns) columns.emplace_back(column, factor * amount);
  number += factor * other.number;
}

Master::Sum& Master::measure(double Measures::*value) {
  const auto row = std::ranges::find(measures(), value, &MeasureRow::value);
  return measures_[static_cast<std::size_t>(row - measures().begin())];
}

Master::Sum Master::taken(std::size_t domain, std::size_t part) const {
  return {{{good_of(domain, goods_.taken(part)), 1}}, {}, 0};
}

Master::Sum Master::sum_of_domains(std::size_t good) const {
  Sum sum;
  for (std::size_t d = 0; d < domains(); ++d) sum.goods.emplace_back(good_of(d, good), 1);
  return sum;
}

int Master::add_column(double high) {
  columns_.push_back(high);
  return static_cast<int>(columns_.size()) - 1;
}

void Master::add_row(Sum sum, double low, double high, bool is_soft) {
  rows_.push_back({std::move(sum), low, high, is_soft});
}

void Master::add_limit(const Sum& sum, double limit) {
  Sum scaled;
  scaled.add(sum, 1 / limit);
  add_row(std::move(scaled), -kNoEnd, 1);
}

std::vector<std::uint32_t> Master::owners(std::size_t part) const {
  if (const auto& device = outline_.task(part).device) return {static_cast<std::uint32_t>(*device)};
  std::vector<std::uint32_t> all(domains());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void Master::add_parts() {
  for (std::size_t p = 0; p < outline_.parts().size(); ++p) {
    Sum sum;
    for (const std::uint32_t domain : owners(p)) sum.add(taken(domain, p), 1);
    add_row(std::move(sum), 1, 1);
  }
}

/// A way for each pair of domains that may have its ends. The sum of ways from a domain is 1 if that has the sender.
void Master::add_flow(std::size_t f) {
  const PartFlow& flow = outline_.flows()[f];
  flow_numbers_[{flow.from, flow.to}] = f;
  const std::vector<std::uint32_t> from = owners(flow.from), to = owners(flow.to);
  std::vector<Sum> leaves(domains()), comes(domains());
  for (const std::uint32_t a : from)
    for (const std::uint32_t b : to) {
      if (!outline_.can_go(flow, a, b)) continue;
      Sum sum;
      if (from.size() > 1 && to.size() > 1)
        sum.columns.emplace_back(add_column(1), 1);
      else if (from.size() > 1 || to.size() > 1)
        sum = from.size() > 1 ? taken(a, flow.from) : taken(b, flow.to);
      else
        sum.number = 1;
      leaves[a].add(sum, 1);
      comes[b].add(sum, 1);
      ways_[f].push_back({a, b, std::move(sum)});
    }
  const auto tie = [&](const std::vector<std::uint32_t>& ends, std::vector<Sum>& sums, std::size_t part) {
    for (const std::uint32_t d : ends) {
      sums[d].add(taken(d, part), -1);
      add_row(std::move(sums[d]), 0, 0);
    }
  };
  tie(from, leaves, flow.from);
  tie(to, comes, flow.to);
}

void Master::add_links() {
  const std::vector<Link>& links = outline_.scenario().links;
  std::vector<Sum> loads(links.size());
  for (std::size_t f = 0; f < ways_.size(); ++f) {
    const PartFlow& flow = outline_.flows()[f];
    const double carried = flow.rate * flow.bytes;
    if (carried == 0) continue;
    for (const Way& way : ways_[f]) {
      measure(&Measures::cost).add(way.sum, carried * kSecondsOfPrice * outline_.routes().price(way.from, way.to));
      outline_.routes().each_link(way.from, way.to, [&](std::size_t link) {
        loads[link].add(way.sum, carried * outline_.service(flow.from).growth());
      });
    }
  }
  for (std::size_t l = 0; l < links.size(); ++l)
    if (const double limit = links[l].lowest_rate() * links[l].utilisation; std::isfinite(limit))
      add_limit(loads[l], limit);
}

void Master::add_sharing() {
  const std::vector<Licence>& licences = outline_.scenario().licences;
  for (std::size_t l = 0; l < licences.size(); ++l)
    add_limit(sum_of_domains(goods_.licensed(l)), static_cast<double>(licences[l].devices));
  const std::size_t most_moves = outline_.before().most_moves;
  if (most_moves < outline_.parts().size())
    add_row(measure(&Measures::moves), -kNoEnd, static_cast<double>(most_moves));
}

Master::Sum Master::time_of_way(std::size_t f, double bytes, bool at_worst) const {
  Routes& routes = outline_.routes();
  Sum sum = sum_of_domains(at_worst ? goods_.worst_way(f) : goods_.way(f));
  for (const Way& way : ways_[f])
    if (way.from != way.to)
      sum.add(way.sum, at_worst ? routes.worst_time(way.from, way.to, bytes) : routes.time(way.from, way.to, bytes));
  return sum;
}

/// The largest of sums, or no less.
Master::Sum Master::joined(std::vector<Sum> sums) {
  if (sums.empty()) return {};
  if (sums.size() == 1) return std::move(sums.front());
  const int most = add_column(kNoEnd);
  for (Sum& sum : sums) {
    sum.columns.emplace_back(most, -1);
    add_row(std::move(sum), -kNoEnd, 0, /*is_soft=*/false);
  }
  return {{}, {{most, 1}}, 0};
}

void Master::add_latencies() {
  std::optional<int> worst;
  if (objective_.uses(&Measures::worst_latency)) {
    worst = add_column(kNoEnd);
    measure(&Measures::worst_latency) = {{}, {{*worst, 1}}, 0};
  }
  for (std::size_t s = 0; s < outline_.scenario().services.size(); ++s)
    add_service(s, measure(&Measures::latency), worst);
}

void Master::add_service(std::size_t s, Sum& latency, const std::optional<int>& worst_of_all) {
  const Service& service = outline_.scenario().services[s];
  const bool has_deadline = std::isfinite(service.deadline);
  const bool has_mean = objective_.uses(&Measures::latency);
  const auto at_end = [&](const Sum& worst) {
    if (has_deadline) add_limit(worst, service.deadline);
    if (!worst_of_all) return;
    Sum below = worst;
    below.columns.emplace_back(*worst_of_all, -1);
    add_row(std::move(below), -kNoEnd, 0, /*is_soft=*/false);
  };
  const std::vector<Sum> means = copy_latencies<Sum>(
      service, outline_.graph(s),
      {.has_worst = has_deadline || worst_of_all,
       .has_mean = has_mean,
       .time_of_part = [&](std::size_t part) { return sum_of_domains(goods_.seconds(part)); },
       .time_of_way =
           [&](std::size_t from, std::size_t to, double bytes, bool at_worst) {
             return time_of_way(flow_numbers_.at({from, to}), bytes, at_worst);
           },
       .largest = [&](const std::vector<Sum>& sums, const std::vector<Sum>&) { return joined(sums); },
       .at_end = at_end});
  if (has_mean) latency.add(joined(means), 1 / static_cast<double>(outline_.scenario().services.size()));
}

}  // namespace mangrove::place
