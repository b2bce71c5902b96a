#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/train/compression/downlink_codec.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// How a server and its workers pass values and updates in training: as flat floats, or through the job's codecs. What
/// is evaluated always goes as it is. threads: one at a time.
class ServerCodecs {
 public:
  /// graph: the job's model.
  ServerCodecs(const TrainJob& job, const Graph& graph);

  /// The body of work of kind TRAIN that brings these values to a worker. Fills in what else the worker must be told.
  std::string body(net::Rank to, Work& work, std::span<const float> values);
  /// An answer's body as flat bytes (see GlobalModel::Part). Never trusts it. has_states: as the work asked for.
  /// errors: data_loss.
  Result<std::string> update(net::Rank from, const Answer& answer, bool has_states, std::string_view body);
  /// Whether update() has anything to do: else the body is flat bytes, all of them.
  bool decodes() const { return uplink_.has_value(); }
  /// It may not have got what was sent last.
  void forget(net::Rank rank);

 private:
  bool asks_for_states(const Work& work) const;

  const std::size_t state_bytes_;
  const bool is_auto_;
  std::optional<UplinkDecoder> uplink_;
  std::optional<DownlinkEncoder> downlink_;
};

}  // namespace mangrove::train
