#pragma once

#include "mangrove/job/device.h"

namespace mangrove::job {

/// The device that this process runs on.
class Machine final : public Device {
 public:
  std::string host() const override;
  int cores() const override;
  double cpu_share() const override;
  Seconds computed() const override;
  Seconds rationed() const override;
  Bytes resident_memory() const override;
  Bytes peak_memory(Bytes planned) const override;
  void charge(double) override {}
  bool is_simulated() const override { return false; }
};

}  // namespace mangrove::job
