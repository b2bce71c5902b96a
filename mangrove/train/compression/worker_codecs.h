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

/// The worker's counterpart of ServerCodecs: it decodes values and encodes updates, in jobs with a server and a codec.
/// threads: one at a time.
class WorkerCodecs {
 public:
  /// graph: the job's model. errors: those of UplinkEncoder::create.
  static Result<std::unique_ptr<WorkerCodecs>> create(const TrainJob& job, const Hyperparameters& recipe,
                                                      const Graph& graph, job::RoleContext& context);

  /// Whether values come as differences. If not, the body of each work has all values or is empty.
  bool decodes() const { return downlink_.has_value(); }
  /// See DownlinkDecoder. REQUIRES: decodes().
  bool take(const Work& work, std::string_view body) { return downlink_->take(work, body); }
  void read_values(std::span<float> values) const { downlink_->read_values(values); }

  /// Where values come as differences, each worker keeps its own states.
  void keep_states(std::span<const float> states);

  /// Whether updates are encoded. If not, they are sent as plain floats.
  bool encodes() const { return uplink_.has_value() || chosen_.has_value(); }
  /// The time on the wire of one exchange, an update and the values after it, and its bytes.
  struct OnWire {
    Seconds seconds = 0;
    std::size_t bytes = 0;
  };
  /// See UplinkEncoder. before: the exchange before this one. Also writes into the answer which codec is used.
  /// REQUIRES: encodes().
  std::string encode(std::span<const float> update, double loss, const OnWire& before, Answer& answer);

 private:
  WorkerCodecs() = default;
  void choose(std::span<const float> update, const OnWire& before, Answer& answer);

  std::optional<UplinkEncoder> uplink_;
  std::optional<DownlinkDecoder> downlink_;
  // Of `codec: auto`:
  codec::Stream stream_;  // that of the updates
  std::optional<CodecChooser> chooser_;
  std::string codec_;  // the codec in chosen_
  std::optional<codec::MomentumCorrection> chosen_;
};

}  // namespace mangrove::train
