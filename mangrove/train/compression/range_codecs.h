#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "mangrove/codec/codec.h"
#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The job's codec for ranges of the flat vector of all parameters, as all_reduce sends them. Some ranges are partial
/// sums, sent from one rank to another. Others are finished sums, which all ranks must decode alike, whichever rank
/// passes them on. Each range is a stream of its own, with error feedback on the sender's side. threads: one at a time.
class RangeCodecs {
 public:
  static constexpr net::Rank kFinished = -1;  // in place of a sender

  /// The job has a valid codec, see check_codecs().
  RangeCodecs(const TrainJob& job, const Graph& graph);

  /// values: those of the range.
  std::string encode(net::Rank from, Range range, std::span<const float> values);
  /// Never trusts the message. errors: data_loss.
  Status decode(net::Rank from, Range range, std::string_view message, std::span<float> values);
  /// A codec that sums this range over all ranks without encoding on the way. Null if the codec is not linear.
  std::unique_ptr<codec::ReducibleCodec> make_reducible(Range range) const;
  /// The ranges have changed. Everything that was kept for the old ones is dropped.
  void clear();

 private:
  using Key = std::tuple<net::Rank, std::size_t, std::size_t>;  // sender, first element, elements
  codec::Stream stream_of(net::Rank from, Range range) const;

  const std::string text_;
  const codec::Stream whole_;
  std::map<Key, std::unique_ptr<codec::Codec>> senders_, receivers_;
};

}  // namespace mangrove::train
