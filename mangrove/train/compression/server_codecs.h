#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/train/compression/downlink_codec.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// How a server and its workers exchange values and updates in training: as plain floats, or through the job's codecs.
/// Values to be evaluated are always sent as plain floats. threads: one at a time.
class ServerCodecs {
 public:
  /// graph: the job's model.
  ServerCodecs(const TrainJob& job, const Graph& graph);

  /// The body of training work that brings these values to a worker. Also sets the fields of the work that the worker
  /// needs to decode it.
  std::string body(net::Rank to, Work& work, std::span<const float> values);
  /// The body of an answer as flat bytes (see GlobalModel::Part). Never trusts the body. has_states: whether the work
  /// asked for states. errors: data_loss.
  Result<std::string> update(net::Rank from, const Answer& answer, bool has_states, std::string_view body);
  /// Whether update() has anything to do. If not, bodies are flat bytes already.
  bool decodes() const { return uplink_.has_value(); }
  /// The worker may not have received the last message.
  void forget(net::Rank rank);

 private:
  bool asks_for_states(const Work& work) const;

  const std::size_t state_bytes_;
  const bool is_auto_;
  std::optional<UplinkDecoder> uplink_;
  std::optional<DownlinkEncoder> downlink_;
};

}  // namespace mangrove::train
