#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"

namespace mangrove::plan {

/// Whether this can be a measured time. Times from devices must be checked, because sums and quotients of other numbers
/// make no plan.
inline bool is_measurement(Seconds seconds) {
  return std::isfinite(seconds) && seconds >= 0 && seconds < 1e6;
}

/// The time and memory of one operator of a network on a device, for one micro-batch.
struct OperatorProfile {
  std::string name;  // name of its node
  std::string kind;  // "Conv"
  double flops = 0;  // forward; a multiply-add counts 2
  Bytes moved = 0;   // forward: bytes read and written
  Seconds forward = 0;
  Seconds backward = 0;  // 0 in a profile of inference
  Bytes weights = 0;     // its parameters, as its kernels have them
  Bytes memory = 0;  // values and workspace while it runs; training: bytes kept for its backward pass. 0: not known,
                     // or it is computed together with the operator before it
};

/// The operators of a network, measured on a device.
struct Profile {
  std::string model, device, backend;
  std::int64_t batch = 1;
  std::int64_t threads = 1;
  bool training = false;
  Bytes process = 0;  // memory of the process without the network
  std::vector<OperatorProfile> operators;
  std::string data = {};  // the data set whose samples were read; "": none
  Seconds read = 0;       // time to read one micro-batch of them

  /// The operator of this name. Null: there is none.
  const OperatorProfile* find(const std::string& name) const;
};

/// A profile as YAML: a section `profile`, and one `operator NAME` for each. docs/planning.md shows one.
std::string to_yaml(const Profile& profile);

/// errors: not_found; invalid_argument (unknown key, with the nearest known one; a value that does not fit; no section
/// `profile`; no operator; names file and line).
Result<Profile> load_profile(const fs::path& path);
/// The same for text that was read from the path already.
Result<Profile> parse_profile(const std::string& text, const fs::path& path);

}  // namespace mangrove::plan
