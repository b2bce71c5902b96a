#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/sim/world.h"

namespace mangrove::sim {

enum class FaultKind {
  crash,      // the process is gone at once, with all that it has; the device joins again when it is over
  freeze,     // it does nothing; what was sent to it waits
  partition,  // these devices reach each other and nobody else; what was sent waits
  slow_link,  // their links carry `factor` times less
};
const char* fault_name(FaultKind kind);

/// Something that happens to devices, or to a region.
struct Fault {
  FaultKind kind = FaultKind::crash;
  std::vector<std::size_t> devices;  // in World::devices; never the coordinator's
  Seconds at = 0;
  Seconds duration = 0;  // 0: for good
  double factor = 10;    // of slow_link
};

/// A fault file, YAML: a section for each fault, with keys `fault`, `devices`, `region`, `at`, `for`, `factor`;
/// docs/simulation.md shows one. errors: not_found; invalid_argument (an unknown key, kind, device or region, a value
/// that does not fit; names file and line).
Result<std::vector<Fault>> load_faults(const fs::path& path, const World& world);

/// One to four faults that begin within this time, of any kind, each for up to this time; a crash may be for good. The
/// first device is spared that, so that somebody is left.
std::vector<Fault> draw_faults(const World& world, std::uint64_t seed, Seconds within);

/// The comings and goings that the world gives one of its devices: churn and the hours of the day, drawn one by one.
class Absences {
 public:
  Absences(const World& world, std::size_t device, std::uint64_t seed);
  /// The next one, a crash, in the order of time. Nothing: it stays.
  std::optional<Fault> next();

 private:
  void draw_churn(Seconds after);

  const std::size_t device_;
  Random random_;
  const double leaves_per_second_, comes_per_second_;
  const Seconds night_;
  std::optional<Fault> by_churn_, by_night_;  // the next of each
};

}  // namespace mangrove::sim
