#include "mangrove/train/transfer_stats.h"

#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

void put_transfer_stats(const TransferStats& stats, Answer& answer) {
  answer.set_peer_messages(stats.messages);
  answer.set_peer_bytes(stats.bytes);
  answer.set_peer_float_bytes(stats.float_bytes);
}

}  // namespace mangrove::train
