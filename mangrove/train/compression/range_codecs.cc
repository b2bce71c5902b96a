#include "mangrove/train/compression/range_codecs.h"

#include <algorithm>

#include "mangrove/codec/error_feedback.h"
#include "mangrove/train/compression/uplink_codec.h"

namespace mangrove::train {

RangeCodecs::RangeCodecs(const TrainJob& job, const Graph& graph)
    : text_(job.codec()), whole_(parameter_stream(graph, job.seed())) {}

/// The layers that lie in the range; those that are cut are one row.
codec::Stream RangeCodecs::stream_of(net::Rank from, Range range) const {
  codec::Stream stream{.layers = {}, .seed = whole_.seed + range.first + static_cast<std::uint64_t>(from + 1)};
  const auto end = static_cast<std::int64_t>(range.first + range.count);
  std::int64_t begin = 0;
  for (const codec::Layer& layer : whole_.layers) {
    const std::int64_t first = std::max(begin, static_cast<std::int64_t>(range.first));
    const std::int64_t count = std::min(begin + layer.elements(), end) - first;
    begin += layer.elements();
    if (count == layer.elements()) {
      stream.layers.push_back(layer);
    } else if (count > 0) {
      stream.layers.push_back({.rows = 1, .columns = count});
    }
  }
  return stream;
}

std::string RangeCodecs::encode(net::Rank from, Range range, std::span<const float> values) {
  std::unique_ptr<codec::Codec>& codec = senders_[{from, range.first, range.count}];
  if (!codec) codec = with_feedback(text_, stream_of(from, range));
  return codec->encode(values);
}

Status RangeCodecs::decode(net::Rank from, Range range, std::string_view message, std::span<float> values) {
  std::unique_ptr<codec::Codec>& codec = receivers_[{from, range.first, range.count}];
  if (!codec) codec = codec::make_codec(text_, stream_of(from, range)).value();
  return codec->decode(message, values);
}

std::unique_ptr<codec::ReducibleCodec> RangeCodecs::make_reducible(Range range) const {
  return codec::make_reducible(text_, stream_of(kFinished, range)).value();
}

void RangeCodecs::clear() {
  senders_.clear();
  receivers_.clear();
}

}  // namespace mangrove::train
