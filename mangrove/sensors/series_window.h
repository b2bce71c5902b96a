#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// What stands in a slot of a window for which no value has come.
enum class Missing {
  last,    // the value before it
  linear,  // on the line between the values before and behind it
  skip,    // nothing: the window is not asked about
};

struct WindowOptions {
  std::int64_t length = 0;  // slots; 0: each message is a question of its own
  std::int64_t hop = 0;     // slots from one window to the next; 0: `length`, so that windows do not overlap
  Seconds period = 1;       // of a slot
  Missing missing = Missing::last;
  Seconds lateness = 0;  // a window waits so long for values that are behind the newest one
  Seconds ahead = 60;    // a value that is further ahead of the arrival is refused

  std::int64_t step() const { return hop == 0 ? length : hop; }
  bool operator==(const WindowOptions&) const = default;
};

/// What became of values and windows.
struct WindowCounts {
  std::uint64_t late = 0;       // values of a time whose windows are closed
  std::uint64_t ahead = 0;      // values from the future
  std::uint64_t duplicate = 0;  // values of a time that there was already
  std::uint64_t filled = 0;     // slots
  std::uint64_t skipped = 0;    // windows
  std::uint64_t jumps = 0;      // times that the series began anew, since its clock was set
  std::uint64_t evicted = 0;    // series that made room for others; of SeriesTable
};

/// The windows of one series: values of one or more rows (sensors), joined by their times. Time is cut into slots of
/// `period`, counted from 1970, so that all boards cut alike. Of two values in a slot the one with the later time
/// stays. A window is complete when the newest value of any row is `lateness` beyond its end, so a row that has died
/// does not hold the others up. Where the newest time leaps by more than two windows, or as many values as a window has
/// slots come too late one after the other, the clock was set: the series begins anew, without windows in between.
/// source: Akidau et al., The Dataflow Model, VLDB 2015 (event time, watermarks, allowed lateness).
/// cost: rows x slots of the windows that are open. threads: one.
class SeriesWindow {
 public:
  SeriesWindow(const WindowOptions& options, std::size_t rows);

  /// A value of a row, measured at `time`, which came at `arrived` (both since 1970). The windows that it completes,
  /// the oldest first, each [rows, length] row by row.
  std::vector<std::vector<float>> add(std::size_t row, Seconds time, float value, Seconds arrived);

  const WindowCounts& counts() const { return counts_; }

 private:
  struct Value {
    Seconds time;
    float value;
  };
  using Row = std::map<std::int64_t, Value>;  // by slot

  std::int64_t slot_of(Seconds time) const;
  /// Whether the value is to be kept.
  bool check_time(Seconds time, Seconds arrived);
  void begin_anew(Seconds time);
  void keep(Row& row, Seconds time, float value);
  std::vector<std::vector<float>> close_windows();
  /// Nothing: a slot stays empty.
  std::optional<std::vector<float>> window_at(std::int64_t first);
  bool fill(const Row& row, std::int64_t first, std::span<float> slots);
  std::optional<float> value_between(const Row& row, Row::const_iterator behind, std::int64_t slot) const;
  void forget_before(std::int64_t slot);

  const WindowOptions options_;
  std::vector<Row> rows_;
  std::optional<Seconds> newest_;
  std::int64_t next_ = 0;  // first slot of the window that is closed next
  std::int64_t late_in_a_row_ = 0;
  WindowCounts counts_;
};

}  // namespace mangrove::sensors
