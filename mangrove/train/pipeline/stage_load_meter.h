#pragma once

#include <cstdint>

#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Adds up the time that an iteration costs the device of a stage. For the cut, it also gives the cost without work
/// that is done only once. If a device has less than one core, it is busy with everything that its process does,
/// messages and samples included. On other devices only the computation of the stage counts. threads: one at a time.
class StageLoadMeter {
 public:
  explicit StageLoadMeter(const job::RoleContext& context) : device_(context.device) {}

  /// A new stage begins. Its first micro-batch does not count: programs are compiled and memory is used for the first
  /// time.
  void begin_stage() { is_cold_ = true; }
  void begin_iteration();
  /// A pass of a micro-batch, or an update, took this time.
  void add_forward(Seconds seconds);
  void add_backward(Seconds seconds);
  void add_update(Seconds seconds) { backward_ += seconds; }
  /// Writes the figures of the iteration, which is over.
  void tell(StageWork& done) const;

 private:
  const job::Device& device_;
  Seconds forward_ = 0, backward_ = 0;  // of the iteration
  std::int64_t forward_passes_ = 0;
  Seconds computing_before_ = 0, rationed_before_ = 0;            // when counting began
  std::int64_t forward_passes_before_ = 0, backward_passes_ = 0;  // backward passes since then
  bool is_cold_ = true;
};

}  // namespace mangrove::train
