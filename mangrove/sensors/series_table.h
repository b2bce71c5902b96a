#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/sensors/payload.h"
#include "mangrove/sensors/series_window.h"

namespace mangrove::sensors {

/// The windows of all series. Each group has at most 1,000 series, and fewer of long windows: 4,000,000 values, of
/// which all groups have the same share. A further one takes the place of the series of its group that has been silent
/// for longest. threads: one.
class SeriesTable {
 public:
  /// What is joined: the sources of a group are its rows.
  struct Group {
    std::size_t number = 0;  // which of the groups
    WindowOptions options;
    std::size_t rows = 1;
  };
  /// groups: how many there are.
  explicit SeriesTable(std::size_t groups = 1) : groups_(groups) {}

  /// The numbers of a message, in consecutive slots: of one without a time of its own, the last one is of its arrival.
  /// The windows that it completes, and in `counts` what has become of its values.
  std::vector<std::vector<float>> add(const Group& group, const std::string& name, std::size_t row,
                                      const Reading& reading, Seconds arrived, WindowCounts& counts);
  /// The series of a group.
  std::size_t size(std::size_t group) const;

 private:
  struct Entry {
    SeriesWindow window;
    std::uint64_t used = 0;
  };
  using Series = std::map<std::string, Entry>;  // of a group, by name
  std::size_t most_series(const Group& group) const;
  const std::size_t groups_;
  std::map<std::size_t, Series> series_;  // by group
  std::uint64_t uses_ = 0;
};

}  // namespace mangrove::sensors
