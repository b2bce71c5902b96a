#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/job/device.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Measures the link of this node to another one, and answers others that do so. First some small messages, whose
/// quickest answer tells the round trip; then ever larger ones, until one takes kLongEnough, for the rate. What the
/// process computes meanwhile is what messages and their bytes cost it.
/// threads: one at a time.
class LinkProbe {
 public:
  LinkProbe(net::Endpoint& endpoint, const Clock& clock, const job::Device& device)
      : endpoint_(endpoint), clock_(clock), device_(device) {}

  /// What was begun before is given up.
  void start(std::uint64_t request, net::Rank peer);
  /// Of a message with kProbeTag. Returns the result when the last one is answered.
  std::optional<Link> take(const net::Message& message);

  static constexpr Seconds kLongEnough = 0.1;

 private:
  void send_next();
  std::optional<Link> take_answer();

  net::Endpoint& endpoint_;
  const Clock& clock_;
  const job::Device& device_;
  bool is_under_way_ = false;
  std::uint64_t request_ = 0;
  net::Rank peer_ = 0;
  std::uint32_t number_ = 0;  // of the probe that is not answered yet
  Instant sent_at_;
  Seconds round_trip_ = 0;
  Seconds cpu_began_ = 0;  // with the small ones, or the larger ones
  Seconds message_seconds_ = 0;
  int messages_ = 0;       // sent or received since
  std::size_t bytes_ = 0;  // of these
};

}  // namespace mangrove::infer
