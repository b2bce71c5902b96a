#include "mangrove/sensors/series_window.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace mangrove::sensors {
namespace {

/// Downwards, also below zero.
std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  const std::int64_t rest = value % step;
  return value - (rest < 0 ? rest + step : rest);
}

}  // namespace

SeriesWindow::SeriesWindow(const WindowOptions& options, std::size_t rows) : options_(options), rows_(rows) {}

std::int64_t SeriesWindow::slot_of(Seconds time) const {
  return static_cast<std::int64_t>(std::floor(time / options_.period));
}

void SeriesWindow::begin_anew(Seconds time) {
  for (Row& row : rows_) row.clear();
  newest_ = time;
  next_ = floor_to(slot_of(time), options_.step());
  late_in_a_row_ = 0;
}

bool SeriesWindow::check_time(Seconds time, Seconds arrived) {
  if (time > arrived + options_.ahead) {
    ++counts_.ahead;
    return false;
  }
  if (!newest_) {
    begin_anew(time);
    return true;
  }
  const Seconds leap = 2 * static_cast<Seconds>(options_.length) * options_.period + options_.lateness;
  if (time > *newest_ + leap) {
    ++counts_.jumps;
    begin_anew(time);
    return true;
  }
  if (slot_of(time) >= next_) {
    late_in_a_row_ = 0;
    newest_ = std::max(*newest_, time);
    return true;
  }
  ++counts_.late;
  if (++late_in_a_row_ < options_.length) return false;
  ++counts_.jumps;
  begin_anew(time);
  return true;
}

void SeriesWindow::keep(Row& row, Seconds time, float value) {
  const auto [place, is_new] = row.try_emplace(slot_of(time), Value{time, value});
  if (is_new) return;
  if (place->second.time == time) ++counts_.duplicate;
  if (place->second.time < time) place->second = {time, value};
}

/// The value of an empty slot. behind: the first value after it.
std::optional<float> SeriesWindow::value_between(const Row& row, Row::const_iterator behind, std::int64_t slot) const {
  const bool has_before = behind != row.begin();
  if (options_.missing == Missing::skip || (!has_before && behind == row.end())) return std::nullopt;
  if (!has_before) return behind->second.value;  // nothing is known before it
  const auto before = std::prev(behind);
  if (options_.missing == Missing::last || behind == row.end()) return before->second.value;
  const auto share = static_cast<float>(static_cast<double>(slot - before->first) /
                                        static_cast<double>(behind->first - before->first));
  return before->second.value + share * (behind->second.value - before->second.value);
}

bool SeriesWindow::fill(const Row& row, std::int64_t first, std::span<float> slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int64_t slot = first + static_cast<std::int64_t>(i);
    const auto found = row.lower_bound(slot);
    if (found != row.end() && found->first == slot) {
      slots[i] = found->second.value;
      continue;
    }
    const std::optional<float> value = value_between(row, found, slot);
    if (!value) return false;
    ++counts_.filled;
    slots[i] = *value;
  }
  return true;
}

std::optional<std::vector<float>> SeriesWindow::window_at(std::int64_t first) {
  const auto length = static_cast<std::size_t>(options_.length);
  std::vector<float> window(rows_.size() * length);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (!fill(rows_[r], first, std::span(window).subspan(r * length, length))) return std::nullopt;
  return window;
}

/// Of what lies before, the last value of each row stays: the next window may begin with an empty slot.
void SeriesWindow::forget_before(std::int64_t slot) {
  for (Row& row : rows_) {
    const auto first = row.lower_bound(slot);
    if (first != row.begin()) row.erase(row.begin(), std::prev(first));
  }
}

std::vector<std::vector<float>> SeriesWindow::close_windows() {
  std::vector<std::vector<float>> windows;
  const std::int64_t reached = slot_of(*newest_ - options_.lateness);
  while (next_ + options_.length <= reached) {
    std::optional<std::vector<float>> window = window_at(next_);
    if (window) windows.push_back(std::move(*window));
    if (!window) ++counts_.skipped;
    next_ += options_.step();
    forget_before(next_);
  }
  return windows;
}

std::vector<std::vector<float>> SeriesWindow::add(std::size_t row, Seconds time, float value, Seconds arrived) {
  if (!check_time(time, arrived)) return {};
  keep(rows_[row], time, value);
  return close_windows();
}

}  // namespace mangrove::sensors
