#pragma once

#include <string>

#include "mangrove/job/device.h"

namespace mangrove::job {

/// A simulated device that takes no time for anything.
class StillDevice : public Device {
 public:
  std::string host() const override { return "still"; }
  std::string description() const override { return "still"; }
  int cores() const override { return 1; }
  double cpu_share() const override { return 1; }
  Seconds computed() const override { return 0; }
  Seconds computed_by_thread() const override { return 0; }
  Seconds rationed() const override { return 0; }
  Bytes memory() const override { return 0; }
  Bytes resident_memory() const override { return 0; }
  void release_freed_memory() override {}
  Bytes peak_memory(Bytes planned) const override { return planned; }
  void charge(double) override {}
  bool fill_secret(std::span<std::byte>) const override { return false; }
  bool is_simulated() const override { return true; }
};

}  // namespace mangrove::job
