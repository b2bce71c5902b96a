#include "mangrove/sensors/series_table.h"

#include <algorithm>

namespace mangrove::sensors {
namespace {

constexpr std::int64_t kMostSeries = 1000, kMostValues = 4'000'000;

std::size_t most_series(const SeriesTable::Group& group) {
  const WindowOptions& options = group.options;
  const auto open_slots = static_cast<double>(2 * options.length) + options.lateness / options.period;
  const double values = open_slots * static_cast<double>(group.rows);
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(kMostValues) / std::max(values, 1.0));
  return static_cast<std::size_t>(std::clamp<std::int64_t>(fitting, 1, kMostSeries));
}

WindowCounts sum(const WindowCounts& a, const WindowCounts& after, const WindowCounts& before) {
  return {.late = a.late + after.late - before.late,
          .ahead = a.ahead + after.ahead - before.ahead,
          .duplicate = a.duplicate + after.duplicate - before.duplicate,
          .filled = a.filled + after.filled - before.filled,
          .skipped = a.skipped + after.skipped - before.skipped,
          .jumps = a.jumps + after.jumps - before.jumps};
}

}  // namespace

void SeriesTable::make_room(const Group& group) {
  while (series_.size() >= most_series(group))
    series_.erase(std::ranges::min_element(series_, {}, [](const auto& entry) { return entry.second.used; }));
}

std::vector<std::vector<float>> SeriesTable::add(const Group& group, const std::string& name, std::size_t row,
                                                 const Reading& reading, Seconds arrived, WindowCounts& counts) {
  auto found = series_.find(name);
  if (found == series_.end()) {
    make_room(group);
    found = series_.emplace(name, Entry{.window = SeriesWindow(group.options, group.rows)}).first;
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
