#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "mangrove/base/units.h"

namespace mangrove::job {

/// Something that the roles of like devices keep once for all of them, where these share a process. A module derives
/// its own from it.
class SharedState {
 public:
  virtual ~SharedState() = default;
};

/// The device that plays a rank: what it has, and how long it has worked. A role asks its device and never the machine:
/// the machine that simulates a device has other cores, memory and time.
/// threads: any thread may call any method.
class Device {
 public:
  virtual ~Device() = default;

  /// The machine whose cores the device uses. A process with a CPU quota counts as a machine of its own.
  virtual std::string host() const = 0;
  /// What the device's speed depends on: its name, its processor, and the share of cores that it may use. Measured
  /// times are valid for every device with the same description.
  virtual std::string description() const = 0;
  virtual int cores() const = 0;         // of that machine
  virtual double cpu_share() const = 0;  // cores' worth of time that the device may use; 0.18: 18 ms in 100 of one core
  /// How much longer something takes than its computing, with so many threads: 5 where a quota leaves them a fifth of
  /// their time. At least 1.
  double slowdown(int threads) const { return std::max(1.0, threads / cpu_share()); }

  /// What all threads of the device have computed so far. Time that others got is not in it.
  virtual Seconds computed() const = 0;
  virtual Seconds computed_by_thread() const = 0;  // of that, what the calling thread has
  /// How long a device that may use less than a core needs for what it has computed so far; 0 for any other.
  virtual Seconds rationed() const = 0;

  virtual Bytes memory() const = 0;  // that its process may use; 0: not known, or not limited
  /// What a job that does not say how much takes of it: others may live there too. 0: as much as it wants.
  Bytes usual_memory() const { return memory() / 10 * 9; }
  virtual Bytes resident_memory() const = 0;  // of its process, now
  /// The part of resident_memory() that the system cannot take back while the process works. Most pages of files do not
  /// count.
  virtual Bytes needed_memory() const { return resident_memory(); }
  /// Makes resident_memory() less by what has been freed since, where the system can. cost: a millisecond or so.
  virtual void release_freed_memory() = 0;
  /// The most so far; planned: what it comes to by the plan, for a device whose memory nobody can measure.
  virtual Bytes peak_memory(Bytes planned) const = 0;

  /// Called before or after a computation of so many floating-point operations of matrix products: a simulated device
  /// takes its time for them here, a real one has its own. Other roles of the same process may run meanwhile.
  virtual void charge(double flops) = 0;

  /// Fills this with random bytes that nobody can guess. Returns false, and leaves it as it is, where what happens must
  /// be the same again: then randomness comes from the job's seed.
  virtual bool fill_secret(std::span<std::byte> bytes) const = 0;

  /// Its times come from charge() and its memory from the plan: measuring the machine says nothing about the device.
  virtual bool is_simulated() const = 0;
  /// False: of what it computes only the time is of interest. Kernels are left out (CompileOptions::timing_only), and
  /// what is computed means nothing.
  virtual bool computes() const { return true; }
  /// Where roles of like devices leave what they share, empty at first. Null: this device has its process to itself.
  virtual std::shared_ptr<SharedState>* shared() { return nullptr; }
};

}  // namespace mangrove::job
