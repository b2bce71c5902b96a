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

/// The server's side of the job's `codec_pull`: values go out as differences from what a worker has already, which at
/// first is the job's own model. Workers that have the same get the same message.
///
/// Parameters alone are sent so. States (running statistics) are each worker's own, once it has some.
/// threads: one at a time.
class DownlinkEncoder {
 public:
  /// The job's codec_pull is one, see check_codecs(), or its codec is `auto`. graph: the job's model.
  DownlinkEncoder(const TrainJob& job, const Graph& graph);

  /// The body of this work, whose `copy` and `base` it fills in; the worker has the values when it has taken it.
  /// values: see GlobalModel; those of the work's version.
  std::string body(net::Rank to, Work& work, std::span<const float> values);
  /// This worker uses it now; until it says so, CodecChooser::first().
  void use(net::Rank rank, const std::string& codec) { chosen_[rank] = codec; }
  /// Nobody knows what this worker has: next time it gets all values.
  void forget(net::Rank rank);

 private:
  struct Copy {
    std::uint64_t id;
    std::int64_t version;  // of the values that it was made for
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
  std::int64_t version_ = -1;                                         // that is sent
  std::map<std::pair<std::uint64_t, std::string>, Next> to_version_;  // by the copy that it is the next of, and codec
  Shared plain_;  // the values of this version, where somebody got them as they are
  std::uint64_t last_id_;
};

/// A worker's side. threads: one at a time.
class DownlinkDecoder {
 public:
  /// graph: the job's model.
  DownlinkDecoder(const TrainJob& job, const Graph& graph);

  /// Takes the values from a work's body. False: they are differences from others than are here, or no message.
  bool take(const Work& work, std::string_view body);
  /// As many as there are; see GlobalModel.
  void read_values(std::span<float> values) const;
  /// The worker's own, from now on.
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
