#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/sample_feed.h"
#include "mangrove/infer/pipeline/stream_part.h"
#include "mangrove/infer/pipeline/work_meter.h"
#include "mangrove/infer/tiles/held_tiles.h"
#include "mangrove/infer/tiles/inbox.h"
#include "mangrove/infer/tiles/layout.h"

namespace mangrove::infer {

/// A node's part in the strategy "tiles": its tiles, and the pieces that come for them and go from them; tiles.h
/// explains the algorithm. If it is the source of its team, it also reads samples, and sends them to the tiles of the
/// first block.
/// threads: one at a time.
class TileWorker final : public StreamPart {
 public:
  explicit TileWorker(StreamPartOptions options);

  std::uint64_t generation() const override { return generation_; }
  bool makes_sense(const Command& command, const Graph& graph) const override;
  Status place(const Command& command, const Graph& graph, const SampleSource& source) override;
  void feed(const Command& command) override;
  void take_activation(net::Message message) override;
  void say_status(const Command& command) const override;
  bool has_work() const override { return !feeds_.empty() || inbox_.has_work(); }
  Status work() override;

 private:
  /// A micro-batch whose samples are being read.
  struct Feed {
    TilePiece header;
    Deadline deadline = Deadline::never();
    SampleFeed::Request samples;
  };
  /// What a rank has made at a cut.
  struct Made {
    std::size_t block;              // that it is for
    const TileLayout::Part* part;   // that has made it; null: the samples
    std::span<const float> values;  // of the region `has`
    Region has;
  };

  bool is_source() const { return layout_.source() == context_.endpoint.rank(); }
  Status send_samples();
  Status compute();
  std::span<const float> compute_tile(const TileLayout::Part& part, const TileInbox::Input& input);
  void assemble(const TileLayout::Part& part, const TileInbox::Input& input, std::span<float> to) const;
  void send_pieces(const TilePiece& header, Deadline deadline, const Made& made, TileTrace trace);
  void send_predictions(const TilePiece& header, std::span<const float> values, TileTrace trace) const;
  TileTrace trace_of(std::size_t step, Instant start);

  const InferJob& job_;
  job::RoleContext& context_;
  std::uint64_t generation_ = 0;
  TileLayout layout_;
  HeldTiles tiles_;
  ActivationCodec codec_;
  WorkMeter meter_;
  SampleFeed samples_;
  std::deque<Feed> feeds_;
  TileInbox inbox_;
  std::vector<float> answer_;
  std::map<std::size_t, Seconds> sending_;  // time of sending, by step; told with the next micro-batch
};

}  // namespace mangrove::infer
