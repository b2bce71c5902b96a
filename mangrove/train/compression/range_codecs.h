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

/// The job's codec for ranges of the flat vector of all parameters, as all_reduce sends them: partial sums from one
/// rank to another, and finished ones, which all ranks must decode alike whoever passes them on. Each range is a stream
/// of its own, with error feedback on the sender's side. threads: one at a time.
class RangeCodecs {
 public:
  static constexpr net::Rank kFinished = -1;  // in place of a sender

  /// The job's codec is one, see check_codecs().
  RangeCodecs(const TrainJob& job, const Graph& graph);

  /// values: of the range.
  std::string encode(net::Rank from, Range range, std::span<const float> values);
  /// Never trusts the message. errors: data_loss.
  Status decode(net::Rank from, Range range, std::string_view message, std::span<float> values);
  /// For sums of this range over all ranks without a codec on the way; null where the codec is not linear.
  std::unique_ptr<codec::ReducibleCodec> make_reducible(Range range) const;
  /// Ranges are cut anew: what was kept for the old ones is of no use.
  void clear();

 private:
  using Key = std::tuple<net::Rank, std::size_t, std::size_t>;  // sender, first element, elements
  codec::Stream stream_of(net::Rank from, Range range) const;

  const std::string text_;
  const codec::Stream whole_;
  std::map<Key, std::unique_ptr<codec::Codec>> senders_, receivers_;
};

}  // namespace mangrove::train
