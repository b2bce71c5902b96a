#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "mangrove/job/device.h"

namespace mangrove::sim {

/// A device of the world as its role sees it: one core, whose time is virtual.
/// threads: actors of SimGrid, of which one runs at a time.
class VirtualDevice final : public job::Device {
 public:
  using SharedState = std::shared_ptr<job::SharedState>;

  /// memory, computes, shared: see job::Device. charge: takes the time of so many FLOPs.
  VirtualDevice(std::string name, Bytes memory, bool computes, SharedState& shared,
                std::function<void(double flops)> charge)
      : name_(std::move(name)), memory_(memory), computes_(computes), shared_(shared), charge_(std::move(charge)) {}

  std::string host() const override { return name_; }
  std::string description() const override { return name_; }
  int cores() const override { return 1; }
  double cpu_share() const override { return 1; }
  Seconds computed() const override { return computed_; }
  Seconds computed_by_thread() const override { return computed_; }
  Seconds rationed() const override { return 0; }
  Bytes memory() const override { return memory_; }
  Bytes resident_memory() const override { return kProcess; }
  void release_freed_memory() override {}
  Bytes peak_memory(Bytes planned) const override { return planned; }
  void charge(double flops) override { charge_(flops); }
  bool fill_secret(std::span<std::byte>) const override { return false; }
  bool is_simulated() const override { return true; }
  bool computes() const override { return computes_; }
  SharedState* shared() override { return &shared_; }

  void add_computed(Seconds seconds) { computed_ += seconds; }

 private:
  static constexpr Bytes kProcess = MiB(64);  // before its role does anything: program, libraries, a small data set

  const std::string name_;
  const Bytes memory_;
  const bool computes_;
  SharedState& shared_;
  const std::function<void(double)> charge_;
  Seconds computed_ = 0;
};

}  // namespace mangrove::sim
