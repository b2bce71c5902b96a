#pragma once

#include "mangrove/base/clock.h"
#include "mangrove/base/units.h"

namespace mangrove::cluster {

/// What this process uses of its machine.
struct ProcessUse {
  double cpu_percent = 0;  // of one core: two busy threads make 200
  Bytes rss_bytes = 0;     // resident memory
};

/// threads: one at a time.
class ResourceMonitor {
 public:
  explicit ResourceMonitor(const Clock& clock);

  /// CPU since the last sample (or since construction), memory now.
  ProcessUse sample();

 private:
  const Clock& clock_;
  Instant sampled_;
  Seconds cpu_ = 0;
  double percent_ = 0;
};

}  // namespace mangrove::cluster
