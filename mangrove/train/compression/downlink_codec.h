#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/codec/difference.h"
#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The server's side of the job's `downlink_codec`. Values are sent as encoded differences from the values that a
/// worker already has; at first these are the job's own model. Workers that have the same values get the same message.
///
/// Only parameters are sent in this way. States (running statistics) are each worker's own once it has some.
///
/// cost     A message of n parameters has as many bytes as the codec makes of n floats. A worker that may have missed a
///          message gets all n f32 again.
/// right    Each difference is taken from the decoded copy, which both sides have. So what one message leaves out is
///          part of the next difference, and the worker's copy follows the values.
/// memory   One vector of n floats for each different copy that workers have.
/// source   Tang et al., DoubleSqueeze, 2019.
/// threads  one at a time.
class DownlinkEncoder {
 public:
  /// The job has a valid downlink_codec, see check_codecs(), or its codec is `auto`. graph: the job's model.
  DownlinkEncoder(const TrainJob& job, const Graph& graph);

  /// The body of this work; also sets `copy` and `base` of the work. The worker has the values once it has taken the
  /// body. values: those of the work's version, see GlobalModel.
  std::string body(net::Rank to, Work& work, std::span<const float> values);
  /// The worker uses this codec from now on. Until then it uses CodecChooser::first().
  void use(net::Rank rank, const std::string& codec) { chosen_[rank] = codec; }
  /// It is not known which values this worker has. Next time it gets all values.
  void forget(net::Rank rank);

 private:
  struct Copy {
    std::uint64_t id;
    std::int64_t version;  // version of the values that it stands for
    codec::DifferenceCopy parameters;
  };
  using Shared = std::shared_ptr<const Copy>;
  struct Next {
    std::string message;
    Shared copy;
  };
  const Next& next(const Shared& base, const std::string& codec, std::span<const float> parameters);
  Shared whole(const std::string& codec, std::span<const float> parameters);
  const std::string& codec_of(net::Rank rank) const;

  const std::string text_;  // empty: `auto`
  const codec::Stream stream_;
  std::map<std::string, std::unique_ptr<codec::Codec>> codecs_;
  std::map<net::Rank, std::string> chosen_;
  const Shared model_;
  std::map<net::Rank, Shared> copies_;                                // null: unknown
  std::int64_t version_ = -1;                                         // the version that is sent now
  std::map<std::pair<std::uint64_t, std::string>, Next> to_version_;  // by base copy and codec
  Shared plain_;  // the values of this version, if some worker got them as plain floats
  std::uint64_t last_id_;
};

/// A worker's side. threads: one at a time.
class DownlinkDecoder {
 public:
  /// graph: the job's model.
  DownlinkDecoder(const TrainJob& job, const Graph& graph);

  /// Takes the values from a work's body. Returns false if the body is no valid message, or a difference from values
  /// that are not here.
  bool take(const Work& work, std::string_view body);
  /// values: as many as the network has, see GlobalModel.
  void read_values(std::span<float> values) const;
  /// From now on these are the worker's own states.
  void keep_states(std::span<const float> states);

 private:
  codec::Codec* codec_of(const Work& work);

  const std::string text_;  // empty: `auto`
  const codec::Stream stream_;
  std::map<std::string, std::unique_ptr<codec::Codec>> codecs_;
  codec::DifferenceCopy parameters_;
  std::vector<float> states_;
  std::uint64_t copy_;
};

}  // namespace mangrove::train
