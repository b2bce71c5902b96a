#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/sensors/payload.h"
#include "mangrove/sensors/series_window.h"

namespace mangrove::sensors {

/// The windows of all series. There are at most 1,000 series, and fewer of long windows: 4,000,000 values. A further
/// one takes the place of the series that has been silent for longest. threads: one.
class SeriesTable {
 public:
  /// What is joined: the sources of a group are its rows.
  struct Group {
    WindowOptions options;
    std::size_t rows = 1;
  };

  /// The numbers of a message, in consecutive slots: of one without a time of its own, the last one is of its arrival.
  /// The windows that it completes, and in `counts` what has become of its values.
  std::vector<std::vector<float>> add(const Group& group, const std::string& name, std::size_t row,
                                      const Reading& reading, Seconds arrived, WindowCounts& counts);
  std::size_t size() const { return series_.size(); }

 private:
  struct Entry {
    SeriesWindow window;
    std::uint64_t used = 0;
  };
  void make_room(const Group& group);
  std::map<std::string, Entry> series_;
  std::uint64_t uses_ = 0;
};

}  // namespace mangrove::sensors
