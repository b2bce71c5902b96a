#include "mangrove/train/data_parallel/transfers.h"

#include <algorithm>

namespace mangrove::train {
namespace {

constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;  // bytes that a worker may say that it has sent

}  // namespace

void Transfers::received(net::Rank rank, const Answer& answer, std::size_t message, std::size_t floats) {
  uplink_.add(message, floats);
  const auto counted = [](std::int64_t count) { return std::clamp<std::int64_t>(count, 0, kMostCounted); };
  to_peers_[rank] = {counted(answer.peer_messages()), counted(answer.peer_bytes()), counted(answer.peer_float_bytes())};
}

TransferStats Transfers::among_peers() const {
  TransferStats all;
  for (const auto& [rank, to_peers] : to_peers_) all += to_peers;
  return all;
}

}  // namespace mangrove::train
