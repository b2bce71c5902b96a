#pragma once

#include <map>
#include <string>

#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

/// What training has moved: from the server to workers, back, and between workers, as these tell.
/// threads: one at a time.
class Transfers {
 public:
  void sent(std::size_t message, std::size_t floats) { pulled_.add(message, floats); }
  /// An answer of so many bytes, for so many of floats.
  void received(net::Rank rank, const Answer& answer, std::size_t message, std::size_t floats);

  const TransferStats& pulled() const { return pulled_; }
  const TransferStats& pushed() const { return pushed_; }
  TransferStats among_peers() const;

 private:
  TransferStats pulled_, pushed_;
  std::map<net::Rank, TransferStats> to_peers_;
};

}  // namespace mangrove::train
