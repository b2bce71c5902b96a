#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// What a worker learns, and the way on which that reaches the others. There is one class for each way.
/// threads: one at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Takes in the values that work of training begins with. False: this is not work for this way, or something before
  /// it got lost, so that it cannot be done.
  virtual bool accept(const Work& work, std::string_view body) = 0;
  /// Does the work that was accepted, and answers the leader; there is no answer where the leader has other work
  /// meanwhile. errors: those of data and engine; cancelled, unavailable (the leader is gone).
  virtual Status train(const Work& work, std::string_view body) = 0;
  /// The values that this worker has come to by itself; empty where it has none. See GlobalModel.
  virtual std::span<const float> own_values() const { return {}; }
};

}  // namespace mangrove::train
