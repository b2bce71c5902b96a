#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/codec/codec.h"
#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Whether this text names no codec: "" and "none" send plain floats.
inline bool is_plain(std::string_view codec) {
  return codec.empty() || codec == "none";
}

/// Whether each worker's codec encodes its updates. A secure sum takes the words of a SecureUpdate in place of that; of
/// the job's codec it has only the fraction of the parameters.
inline bool is_encoded(const TrainJob& job) {
  return !is_plain(job.codec()) && !job.secure_aggregation();
}

/// Whether each worker measures its link and chooses the codec of both directions; see CodecChooser.
inline bool is_auto(const TrainJob& job) {
  return job.codec() == "auto";
}

/// The parameters of a network as a codec's stream. seed: that of the sender.
codec::Stream parameter_stream(const Graph& graph, std::uint64_t seed);
/// The stream of this worker's updates.
codec::Stream uplink_stream(const Graph& graph, const TrainJob& job, net::Rank rank);

/// A sender's codec, with error feedback if the codec needs it. text: a valid one.
std::unique_ptr<codec::Codec> with_feedback(const std::string& text, const codec::Stream& stream);

/// Whether the workers apply the optimizer's momentum themselves, before they leave most elements for later messages
/// (see codec::MomentumCorrection). Then the server's optimizer must have none.
bool uplink_has_momentum(const TrainJob& job, const Hyperparameters& recipe);

/// A worker's side of the job's `codec`: it encodes the worker's updates. An update is the mean gradient over the
/// samples of a step, or the change over several steps of the worker's own.
///
/// cost    A message has as many bytes as the codec makes of the n parameters. A codec with error feedback or momentum
///         keeps two or three vectors of n floats.
/// right   What a message leaves out is added to the next one (error feedback), or the codec is right on average.
/// source  docs/codecs.md names the paper of each codec.
/// threads  one at a time.
class UplinkEncoder {
 public:
  /// text: the job's codec, or the one that was chosen. errors: those of codec::make_codec.
  static Result<UplinkEncoder> create(const std::string& text, const TrainJob& job, const Hyperparameters& recipe,
                                      const codec::Stream& stream);

  /// update: one element for each parameter of the network. loss: the mean over the same samples.
  std::string encode(std::span<const float> update, double loss) {
    codec_->told_loss(loss);
    return codec_->encode(update);
  }

 private:
  explicit UplinkEncoder(std::unique_ptr<codec::Codec> codec) : codec_(std::move(codec)) {}
  std::unique_ptr<codec::Codec> codec_;
};

/// The server's side.
/// threads: one at a time.
class UplinkDecoder {
 public:
  /// The job has a valid codec, see check_codecs().
  UplinkDecoder(const TrainJob& job, const Graph& graph);

  /// A worker's update times its number of samples, as flat bytes (see GlobalModel::Part). Never trusts the message.
  /// errors: data_loss.
  Result<std::string> decode(net::Rank from, const Answer& answer, std::string_view message);

 private:
  const std::string text_;
  const codec::Stream stream_;  // the seed is another one for each worker
  std::map<net::Rank, std::map<std::string, std::unique_ptr<codec::Codec>>> codecs_;
  std::vector<float> update_;
};

/// Checks the keys `codec` and `downlink_codec`. errors: not_found (unknown codec), invalid_argument (a parameter out
/// of its range, or a codec that does not fit the strategy or the direction). The message names the key.
Status check_codecs(const TrainJob& job);

}  // namespace mangrove::train
