#pragma once

#include <map>
#include <string>

#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

/// The traffic of training: from the server to workers, back, and between workers. Workers report the last kind.
/// threads: one at a time.
class Transfers {
 public:
  void sent(std::size_t message, std::size_t floats) { downlink_.add(message, floats); }
  /// An answer of `message` bytes, which carries `floats` bytes of floats.
  void received(net::Rank rank, const Answer& answer, std::size_t message, std::size_t floats);

  const TransferStats& downlink() const { return downlink_; }
  const TransferStats& uplink() const { return uplink_; }
  TransferStats among_peers() const;

 private:
  TransferStats downlink_, uplink_;
  std::map<net::Rank, TransferStats> to_peers_;
};

}  // namespace mangrove::train
