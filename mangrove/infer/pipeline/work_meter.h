#pragma once

#include "mangrove/base/clock.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// What a node's micro-batches cost it.
/// threads: one at a time.
class WorkMeter {
 public:
  /// slowdown: the factor by which a CPU quota stretches the time of a core.
  WorkMeter(const job::RoleContext& context, double slowdown);

  /// Begins anew.
  void begin();
  /// What this board has worked for a micro-batch. computing: the time from its start to its end. sending: that of
  /// sending the one before. Where no core is free for reading, sending and receiving, it is all that the process has
  /// computed since the last call, as the quota stretches that.
  Seconds busy(Seconds computing, Seconds sending);
  /// The most memory of this process since begin(), as far as was looked.
  Bytes resident();

 private:
  const job::RoleContext& context_;
  const bool has_spare_core_;  // one core is free for reading, sending and receiving
  const double slowdown_;
  Bytes resident_ = 0;
  Instant looked_;           // when the memory was last measured
  Seconds counted_cpu_ = 0;  // processor time of this process at the last micro-batch
};

}  // namespace mangrove::infer
