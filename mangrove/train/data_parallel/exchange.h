#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// How a worker computes its update and exchanges it with the server or with other workers. Each way of exchange is one
/// class.
/// threads: one at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Takes in the values that this training work starts from. Returns false if the work cannot be done: it belongs to
  /// another way of exchange, or an earlier message was lost.
  virtual bool accept(const Work& work, std::string_view body) = 0;
  /// Does the accepted work and answers the leader. Sends no answer if the leader gives other work meanwhile. errors:
  /// those of data and engine; cancelled; unavailable (the leader is gone).
  virtual Status train(const Work& work, std::string_view body) = 0;
  /// Replies to an order of a secure sum of the updates that workers keep, in strategies where they do. errors: as
  /// train().
  virtual Status sum(const Work&, std::string_view) { return {}; }
  /// The worker's own values (see GlobalModel), in strategies where each worker has its own; otherwise empty.
  virtual std::span<const float> own_values() const { return {}; }
};

}  // namespace mangrove::train
