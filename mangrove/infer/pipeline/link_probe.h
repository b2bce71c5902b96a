#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/job/device.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Measures the link of this node to another one, and answers the probes of others. It sends a few small messages
/// first; the quickest answer gives the round trip. Then it sends larger and larger ones until one takes kLongEnough;
/// that one gives the rate. The processor time of the process meanwhile gives the cost of a message and of a byte.
/// threads: one at a time.
class LinkProbe {
 public:
  LinkProbe(net::Endpoint& endpoint, const Clock& clock, const job::Device& device)
      : endpoint_(endpoint), clock_(clock), device_(device) {}

  /// Begins a measurement. An earlier one is given up.
  void start(std::uint64_t request, net::Rank peer);
  /// Takes a message with kProbeTag. Returns the result when the last probe is answered.
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
  std::uint32_t number_ = 0;  // number of the probe that is not answered yet
  Instant sent_at_;
  Seconds round_trip_ = 0;
  Seconds cpu_began_ = 0;  // processor time when the small, or the larger, messages began
  Seconds message_seconds_ = 0;
  int messages_ = 0;       // messages since then
  std::size_t bytes_ = 0;  // bytes of these
};

}  // namespace mangrove::infer
