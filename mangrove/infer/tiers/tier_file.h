#pragma once

#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

/// The devices of one tier.
struct TierSpec {
  Tier tier = Tier::end;
  std::int64_t count = 1;
  std::string model;            // of the zoo, or an ONNX file
  std::string labels = "fine";  // or "coarse": what the network's classes are
  bool trusted = true;
  std::string privacy;  // of devices that are not: what they get in place of samples, see privacy/split.h; else empty
  std::int64_t exits = 0;  // of end devices and edge servers: they stop at this exit of the one network of all tiers,
                           // see exits.h; 0 of end devices: tiers have their own
  double accuracy = 0;     // of the network on validation data; 0: not known
  // The way of a task's samples from the end devices; to a cloud that goes on where edge servers stop, from these.
  Seconds delay = 0;
  BytesPerSecond rate = 0;  // 0: not limited

  bool is_coarse() const { return labels == "coarse"; }
};

/// The tiers of a YAML file, in the order end, edge, cloud: sections "end", "edge" and "cloud" with the keys above
/// but for the last two, and "end - edge", "edge - cloud" and "end - cloud" with `delay` and `rate` of links. Without a
/// link from end to cloud the way goes over the edge: delays are added, the lower rate counts. Keys outside sections
/// hold for every section that has them. docs/tiers.md shows an example.
/// errors: not_found; invalid_argument (unknown section or key, with the nearest known one; a value that does not fit;
/// no end devices, no network, a link to a tier that is not there, `exits` of the cloud; names file and line).
Result<std::vector<TierSpec>> load_tiers(const fs::path& path);

/// Of all tiers together.
std::int64_t device_count(const std::vector<TierSpec>& tiers);

}  // namespace mangrove::infer
