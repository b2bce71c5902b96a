#include "mangrove/plan/pipeline_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mangrove::plan {
namespace {

constexpr double kRounding = 1e-12;  // of sums
constexpr double kSlack = 1e-9;      // where only hopeless cuts are passed over

bool has_room(const Counts& counts, std::size_t state, const Team& team) {
  return std::ranges::all_of(team.members, [&](const Team::Member& member) {
    return counts.of(state, member.kind) + member.count <= counts.size(member.kind);
  });
}

}  // namespace

PipelineSearch::PipelineSearch(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds,
                               const StageCosts& costs, std::vector<Team> teams)
    : problem_(problem),
      kinds_(kinds),
      costs_(costs),
      teams_(std::move(teams)),
      lasts_(problem.ways.empty() ? 1 : teams_.size() + 1) {
  const Counts& counts = costs_.counts();
  order_.resize(counts.states());
  std::iota(order_.begin(), order_.end(), 0);
  for (std::size_t state = 0; state < counts.states(); ++state) {
    totals_.push_back(counts.total(state));
    double remaining = 0;
    for (std::size_t kind = 0; kind < counts.kinds(); ++kind)
      remaining += static_cast<double>(counts.size(kind) - counts.of(state, kind)) * costs_.most_work(kind);
    remaining_work_.push_back(remaining);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return totals_[a] < totals_[b]; });
  for (const Team& team : teams_) {
    team_work_.push_back(0);
    for (const Team::Member& member : team.members)
      team_work_.back() += static_cast<double>(member.count) * costs_.most_work(member.kind);
  }
  rows_.resize(counts.states() * lasts_);
}

std::size_t PipelineSearch::slot(std::size_t state, std::size_t team) const {
  return state * lasts_ + (lasts_ == 1 ? 0 : team);
}

std::optional<PipelineSearch::Pipeline> PipelineSearch::find(Seconds period, const DeviceRange& range) {
  period_ = period;
  least_ = range.least;
  needed_ = std::numeric_limits<double>::infinity();
  for (auto& rows : rows_) rows.clear();
  // before any stage: a row that begins behind the last layer, with the team behind all
  rows_[slot(0, teams_.size())].push_back(
      {static_cast<std::uint32_t>(costs_.cuts().last()), static_cast<std::uint32_t>(teams_.size()), 0, 0});
  for (const std::size_t state : order_) {
    if (totals_[state] > range.most) break;
    for (std::size_t at = state * lasts_; at < (state + 1) * lasts_; ++at) {
      for (std::size_t position = 0; position < rows_[at].size(); ++position) {
        if (rows_[at][position].cut == 0) return rebuild(at, position);
        extend(state, at, position, range);
      }
    }
  }
  return std::nullopt;
}

/// Puts each possible stage in front of a row.
void PipelineSearch::extend(std::size_t state, std::size_t from, std::size_t position, const DeviceRange& range) {
  const Row row = rows_[from][position];
  for (std::size_t team = 0; team < teams_.size(); ++team) {
    const std::size_t devices = totals_[state] + teams_[team].devices;
    if (devices > range.most || !has_room(costs_.counts(), state, teams_[team])) continue;
    if (!passes_way(teams_[team], row.team, row.cut)) continue;
    Row first = row;  // of the row that is made
    first.next = static_cast<std::uint32_t>(from);
    first.next_position = static_cast<std::uint32_t>(position);
    prepend(state, first, team, devices >= range.least);
  }
}

/// Whether the period is as long as something needs; where it is not, the search would go differently with that.
bool PipelineSearch::keeps(Seconds needed) {
  if (needed <= period_ * (1 + kRounding)) return true;
  needed_ = std::min(needed_, needed);
  return false;
}

/// No devices that do so much work in a second at most do this work in less.
Seconds PipelineSearch::least_period(Seconds work, double work_a_second) const {
  const Seconds slack = kSlack * costs_.work(costs_.cuts().last());
  return work <= slack ? 0 : (work - slack) / work_a_second * (1 - kSlack);
}

/// The first cut from which the team may get to `last` within the period; cuts are sorted by work.
std::size_t PipelineSearch::first_cut(std::size_t last, std::size_t team) {
  const Seconds all = costs_.work(costs_.cuts().last());
  const Seconds least = costs_.work(last) - kSlack * all - period_ * team_work_[team] / (1 - kSlack);
  const std::size_t fitting = costs_.first_that_may_fit(teams_[team], last);
  std::size_t low = fitting, high = last;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    costs_.work(middle) < least ? low = middle + 1 : high = middle;
  }
  if (low > fitting) keeps(least_period(costs_.work(last) - costs_.work(low - 1), team_work_[team]));
  return low;
}

/// A stage on the team, from each cut that is worth it up to row.cut, in front of the row. The largest stages come
/// first: they leave the least to the other devices.
void PipelineSearch::prepend(std::size_t state, const Row& row, std::size_t team, bool may_be_whole) {
  const Cuts& cuts = costs_.cuts();
  const std::size_t made = state + teams_[team].state;
  const double others = remaining_work_[made];
  std::size_t cut = std::max<std::size_t>(first_cut(row.cut, team), may_be_whole ? 0 : 1);
  for (; cut < row.cut && keeps(least_period(costs_.work(cut), others)); ++cut) {
    if (!cuts.within(cut, row.cut) || !keeps(costs_.period(teams_[team], cut, row.cut)) ||
        !costs_.fits(teams_[team], cut, row.cut, totals_[state]))
      continue;
    Row longer = row;
    longer.cut = static_cast<std::uint32_t>(cut);
    longer.team = static_cast<std::uint32_t>(team);
    add(rows_[slot(made, team)], longer);
    if (least_ <= 2 && costs_.best_of_later(cut, period_)) break;
  }
}

/// Whether no way between a device of the team and one of the next stage's is busy for longer than the period.
bool PipelineSearch::passes_way(const Team& team, std::size_t next, std::size_t cut) {
  if (lasts_ == 1 || next == teams_.size()) return true;
  const Team& behind = teams_[next];  // where ways matter, teams are of one kind
  const auto& from = kinds_[team.members.front().kind];
  const auto& to = kinds_[behind.members.front().kind];
  const Way way = problem_.way(from.front(), from == to ? to.back() : to.front());
  if (way.rate == 0) return true;
  const double bytes = crossings(problem_.training) * static_cast<double>(costs_.cuts().bytes(cut));
  return keeps(bytes / static_cast<double>(team.devices * behind.devices) / way.rate);
}

/// Of rows on the same devices. A row with more layers leaves less to the others: that is no merit where each of so
/// many others must have a layer.
bool PipelineSearch::as_good(std::size_t a, std::size_t b) const {
  return least_ <= 2 ? costs_.as_good(a, b, period_) : a == b;
}

/// Unless another row is as good.
void PipelineSearch::add(std::vector<Row>& rows, const Row& row) const {
  for (const Row& other : rows)
    if (as_good(other.cut, row.cut)) return;
  std::erase_if(rows, [&](const Row& other) { return as_good(row.cut, other.cut); });
  rows.push_back(row);
}

PipelineSearch::Pipeline PipelineSearch::rebuild(std::size_t at, std::size_t position) const {
  Pipeline pipeline;
  for (Row row = rows_[at][position];; row = rows_[row.next][row.next_position]) {
    pipeline.cuts.push_back(row.cut);
    if (row.cut == costs_.cuts().last()) return pipeline;
    pipeline.teams.push_back(row.team);
  }
}

/// Of one micro-batch: through a stage and on to the next.
Seconds PipelineSearch::delay(const Team& team, std::size_t first, std::size_t last, const Team* next) const {
  Seconds busy = 0, transfer = 0;
  for (const Team::Member& member : team.members) {
    busy = std::max(busy, costs_.busy(member.kind, first, last));
    if (next == nullptr) continue;
    for (const Team::Member& behind : next->members)
      transfer = std::max(transfer, transfer_seconds(problem_, kinds_[member.kind].front(), kinds_[behind.kind].back(),
                                                     costs_.cuts().bytes(last)));
  }
  return busy + transfer;
}

PipelineSearch::Pipeline PipelineSearch::soonest(Pipeline pipeline, Seconds period) {
  period_ = period;
  const std::size_t n = costs_.cuts().size(), stages = pipeline.teams.size();
  constexpr Seconds kNever = std::numeric_limits<double>::infinity();
  // of the stages from s on: the time from a cut to the end, and the cut behind stage s
  std::vector<std::vector<Seconds>> best(stages + 1, std::vector<Seconds>(n, kNever));
  std::vector<std::vector<std::size_t>> behind(stages, std::vector<std::size_t>(n, 0));
  best[stages][n - 1] = 0;
  std::size_t devices_behind = 0;
  for (std::size_t s = stages; s-- > 0;) {
    const Team& team = teams_[pipeline.teams[s]];
    const Team* next = s + 1 < stages ? &teams_[pipeline.teams[s + 1]] : nullptr;
    for (std::size_t last = 1; last < n; ++last) {
      if (best[s + 1][last] == kNever) continue;
      if (next != nullptr && !passes_way(team, pipeline.teams[s + 1], last)) continue;
      for (std::size_t first = first_cut(last, pipeline.teams[s]); first < last; ++first) {
        if (!costs_.cuts().within(first, last) || !keeps(costs_.period(team, first, last)) ||
            !costs_.fits(team, first, last, devices_behind))
          continue;
        const Seconds total = best[s + 1][last] + delay(team, first, last, next);
        if (total >= best[s][first]) continue;
        best[s][first] = total;
        behind[s][first] = last;
      }
    }
    devices_behind += team.devices;
  }
  if (best[0][0] == kNever) return pipeline;
  for (std::size_t s = 0; s < stages; ++s) pipeline.cuts[s + 1] = behind[s][pipeline.cuts[s]];
  return pipeline;
}

std::vector<Part> PipelineSearch::parts(const Pipeline& pipeline) const {
  std::vector<std::size_t> used(kinds_.size(), 0);
  std::vector<Part> parts;
  for (std::size_t s = 0; s < pipeline.teams.size(); ++s) {
    Part part{costs_.cuts().layers(pipeline.cuts[s], pipeline.cuts[s + 1]), {}};
    for (const Team::Member& member : teams_[pipeline.teams[s]].members)
      for (std::size_t i = 0; i < member.count; ++i) part.devices.push_back(kinds_[member.kind][used[member.kind]++]);
    std::ranges::sort(part.devices);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace mangrove::plan
