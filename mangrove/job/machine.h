#pragma once

#include <string>
#include <utility>

#include "mangrove/base/file.h"
#include "mangrove/job/device.h"

namespace mangrove::job {

/// The device that this process runs on.
class Machine final : public Device {
 public:
  /// root: where /proc and /sys are, for tests. part: of its time and memory, where several jobs share it; more than 0,
  /// at most 1.
  explicit Machine(fs::path root = "/", double part = 1) : root_(std::move(root)), part_(part) {}

  std::string host() const override;
  std::string description() const override;
  int cores() const override;
  double cpu_share() const override;
  Seconds computed() const override;
  Seconds computed_by_thread() const override;
  Seconds rationed() const override;
  Bytes memory() const override;
  Bytes resident_memory() const override;
  Bytes needed_memory() const override;
  void release_freed_memory() override;
  Bytes peak_memory(Bytes planned) const override;
  void charge(double) override {}
  bool fill_secret(std::span<std::byte> bytes) const override;
  bool is_simulated() const override { return false; }

 private:
  const fs::path root_;
  const double part_;
};

}  // namespace mangrove::job
