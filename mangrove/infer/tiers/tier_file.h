#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

constexpr std::int32_t kMostDevices = 10'000;  // of a tier

/// The devices of one tier.
struct TierSpec {
  Tier tier = Tier::end;
  std::int64_t count = 1;
  std::string model;            // a model of the zoo, or an ONNX file
  std::string labels = "fine";  // the network's classes: "fine" or "coarse"
  bool trusted = true;
  std::string privacy;     // untrusted devices: what they get in place of samples, see privacy/split.h; else empty
  std::int64_t exits = 0;  // end devices and edge servers stop at this exit of the one network of all tiers, see
                           // exits.h; 0 for end devices: each tier has a network of its own
  double accuracy = 0;     // accuracy of the network on validation data; 0: not known
  // The link by which a task's samples come: from the end devices, or from edge servers that stop at an exit.
  Seconds delay = 0;
  BytesPerSecond rate = 0;  // 0: not limited

  bool is_coarse() const { return labels == "coarse"; }
};

/// Reads the tiers from a YAML file and returns them in the order end, edge, cloud. Its sections "end", "edge" and
/// "cloud" have the keys above except the last two; "end - edge", "edge - cloud" and "end - cloud" are links and have
/// `delay` and `rate`. Without a link from end to cloud, the way goes over the edge: delays are added, and the lower
/// rate counts. A key outside sections holds for every section that has such a key. docs/tiers.md shows an example.
/// errors: not_found; invalid_argument (unknown section or key, with the nearest known one; a value that does not fit;
/// no end devices, no network, a link to a tier that does not exist, `exits` of the cloud). The message names the file
/// and the line.
Result<std::vector<TierSpec>> load_tiers(const fs::path& path);

/// The number of devices of all tiers together.
std::int64_t device_count(const std::vector<TierSpec>& tiers);

}  // namespace mangrove::infer
