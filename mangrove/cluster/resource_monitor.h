#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove::cluster {

/// What this process uses of its machine, and how the machine is.
struct ProcessUse {
  double cpu_percent = 0;           // of one core: two busy threads make 200
  Bytes rss_bytes = 0;              // resident memory
  std::int64_t minor_faults = 0;    // pages since the process began that were in memory,
  std::int64_t major_faults = 0;    // and that had to be read
  std::vector<float> core_percent;  // how busy each core is that this process may use, whoever uses it; empty where the
                                    // system does not say
  std::optional<double> temperature_c;  // of the hottest sensor, degrees Celsius
};

/// cost: two small files of /proc, and one for each sensor, a sample: about 0.1 ms.
/// threads: one at a time.
class ResourceMonitor {
 public:
  /// `root`: where /proc and /sys are, for tests.
  explicit ResourceMonitor(const Clock& clock, const fs::path& root = "/");

  /// CPU since the last sample (or since construction), the rest as it is now.
  ProcessUse sample();

 private:
  struct CoreTime {
    std::uint64_t busy = 0, total = 0;  // ticks
  };
  std::vector<CoreTime> core_times() const;
  void update_cpu(Instant now);

  const Clock& clock_;
  const fs::path root_;
  const std::vector<fs::path> sensors_;  // of temperature
  Instant sampled_;
  Seconds cpu_ = 0;
  double percent_ = 0;
  std::vector<CoreTime> cores_;
  std::vector<float> core_percent_;
};

/// "0-2,5" -> 0, 1, 2, 5: cores as the kernel lists them. Empty: it is no such list.
std::vector<int> parse_core_list(const std::string& text);

}  // namespace mangrove::cluster
