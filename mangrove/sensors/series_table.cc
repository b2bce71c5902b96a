#include "mangrove/sensors/series_table.h"

#include <algorithm>

namespace mangrove::sensors {
namespace {

constexpr std::int64_t kMostSeries = 1000, kMostValues = 4'000'000;

WindowCounts sum(const WindowCounts& a, const WindowCounts& after, const WindowCounts& before) {
  return {.late = a.late + after.late - before.late,
          .ahead = a.ahead + after.ahead - before.ahead,
          .duplicate = a.duplicate + after.duplicate - before.duplicate,
          .filled = a.filled + after.filled - before.filled,
          .skipped = a.skipped + after.skipped - before.skipped,
          .jumps = a.jumps + after.jumps - before.jumps,
          .evicted = a.evicted};
}

}  // namespace

std::size_t SeriesTable::most_series(const Group& group) const {
  const WindowOptions& options = group.options;
  const auto open_slots = static_cast<double>(2 * options.length) + options.lateness / options.period;
  const double values = std::max(open_slots * static_cast<double>(group.rows), 1.0);
  const double share = static_cast<double>(kMostValues) / static_cast<double>(groups_);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(share / values), 1, kMostSeries));
}

std::size_t SeriesTable::size(std::size_t group) const {
  const auto found = series_.find(group);
  return found == series_.end() ? 0 : found->second.size();
}

std::vector<std::vector<float>> SeriesTable::add(const Group& group, const std::string& name, std::size_t row,
                                                 const Reading& reading, Seconds arrived, WindowCounts& counts) {
  Series& series = series_[group.number];
  auto found = series.find(name);
  if (found == series.end()) {
    for (; series.size() >= most_series(group); ++counts.evicted)
      series.erase(std::ranges::min_element(series, {}, [](const auto& entry) { return entry.second.used; }));
    found = series.emplace(name, Entry{.window = SeriesWindow(group.options, group.rows)}).first;
  }
  Entry& entry = found->second;
  entry.used = ++uses_;
  const WindowCounts before = entry.window.counts();
  const auto count = static_cast<double>(reading.values.size());
  const Seconds first = reading.time.value_or(arrived - (count - 1) * group.options.period);
  std::vector<std::vector<float>> windows;
  for (std::size_t i = 0; i < reading.values.size(); ++i) {
    const Seconds time = first + static_cast<double>(i) * group.options.period;
    for (std::vector<float>& window : entry.window.add(row, time, reading.values[i], arrived))
      windows.push_back(std::move(window));
  }
  counts = sum(counts, entry.window.counts(), before);
  return windows;
}

}  // namespace mangrove::sensors
