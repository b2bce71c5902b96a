#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/codec/momentum_correction.h"
#include "mangrove/job/role.h"
#include "mangrove/train/compression/codec_choice.h"
#include "mangrove/train/compression/downlink_codec.h"
#include "mangrove/train/compression/uplink_codec.h"

namespace mangrove::train {

/// The other side of ServerCodecs: how a worker takes values and sends updates through the job's codecs, where the job
/// has a server and a codec. threads: one at a time.
class WorkerCodecs {
 public:
  /// graph: the job's model. errors: those of UplinkEncoder::create.
  static Result<std::unique_ptr<WorkerCodecs>> create(const TrainJob& job, const Hyperparameters& recipe,
                                                      const Graph& graph, job::RoleContext& context);

  /// Whether values come as differences: else all of them are in the body of each work, or it is empty.
  bool decodes() const { return downlink_.has_value(); }
  /// See DownlinkDecoder. REQUIRES: decodes().
  bool take(const Work& work, std::string_view body) { return downlink_->take(work, body); }
  void read_values(std::span<float> values) const { downlink_->read_values(values); }

  /// States are each worker's own where values come as differences.
  void keep_states(std::span<const float> states);

  /// Whether updates are encoded: else they go as they are.
  bool encodes() const { return uplink_.has_value() || chosen_.has_value(); }
  /// What one exchange, of an update and the values after it, took on its way.
  struct OnWire {
    Seconds seconds = 0;
    std::size_t bytes = 0;
  };
  /// See UplinkEncoder. before: the exchange before this one. Fills in what the answer tells of the codec.
  /// REQUIRES: encodes().
  std::string encode(std::span<const float> update, double loss, const OnWire& before, Answer& answer);

 private:
  WorkerCodecs() = default;
  void choose(std::span<const float> update, const OnWire& before, Answer& answer);

  std::optional<UplinkEncoder> uplink_;
  std::optional<DownlinkDecoder> downlink_;
  // Of `codec: auto`:
  codec::Stream stream_;  // of the updates
  std::optional<CodecChooser> chooser_;
  std::string codec_;  // in chosen_
  std::optional<codec::MomentumCorrection> chosen_;
};

}  // namespace mangrove::train
