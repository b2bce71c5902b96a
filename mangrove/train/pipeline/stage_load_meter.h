#pragma once

#include <cstdint>

#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Adds up what a passage costs the device of a stage; and, for the cut, what it costs without what is done once. A
/// device that has less than a core is busy with all that its process does, messages and samples too; of others,
/// only what the stage computes counts. threads: one at a time.
class StageLoadMeter {
 public:
  explicit StageLoadMeter(const job::RoleContext& context) : device_(context.device) {}

  /// In its first micro-batch programs are compiled and memory is touched: that does not count.
  void begin_stage() { is_cold_ = true; }
  void begin_passage();
  /// A pass of a micro-batch, or an update, took so long.
  void add_forward(Seconds seconds);
  void add_backward(Seconds seconds);
  void add_update(Seconds seconds) { backward_ += seconds; }
  /// Of the passage, which is over.
  void tell(StageWork& done) const;

 private:
  const job::Device& device_;
  Seconds forward_ = 0, backward_ = 0;  // of the passage
  std::int64_t forward_passes_ = 0;
  Seconds computing_before_ = 0, rationed_before_ = 0;            // when it began to count
  std::int64_t forward_passes_before_ = 0, backward_passes_ = 0;  // backward passes: since
  bool is_cold_ = true;
};

}  // namespace mangrove::train
