#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "mangrove/graph/tile.h"
#include "mangrove/plan/tile_problem.h"

namespace mangrove::plan {

/// The value before or behind a segment. What is no map counts as a plane of one cell.
struct TileValue {
  Region plane = {0, 0, 1, 1};
  std::int64_t cell = 0;  // f32 elements of each cell, of all samples of a micro-batch
};

/// What a tile of a block costs on a device.
struct BlockTile {
  Region input;  // what it needs of the value before the block
  Seconds seconds = 0;
  double multiply_adds = 0;
  Bytes memory = 0;  // see TilePlan
};

/// What tiles cost, by the graph and the devices' figures. Blocks are rows of segments [first, last), which are counted
/// from 0. Since one value crosses each end of a segment, a tile of a block is a tile of its last segment, and of each
/// one before it what the next one needs. So tiles are kept by segment, and few of them serve all blocks.
/// threads: one at a time.
class TileCosts {
 public:
  /// The problem must outlive it. REQUIRES: check(problem) is ok.
  explicit TileCosts(const TileProblem& problem);

  const TileProblem& problem() const { return problem_; }
  std::size_t segments() const { return segments_.size(); }
  /// The operator at which a segment begins. segments(): behind the last one.
  std::size_t first_operator(std::size_t segment) const { return starts_[segment]; }
  bool can_be_tiled(std::size_t first, std::size_t last) const;
  /// The value before a segment. segments(): the result.
  const TileValue& value(std::size_t segment) const { return values_[segment]; }
  /// The plane of which the tiles of blocks that end with this segment are regions.
  const Region& plane(std::size_t last_segment) const { return segments_[last_segment].output; }
  /// What each tile of such a block has of the value behind it.
  Region made(std::size_t last_segment, const Region& output) const {
    return segments_[last_segment].join == TileJoin::add ? values_[last_segment + 1].plane : output;
  }

  /// Nothing: it cannot be computed in this tile. REQUIRES: can_be_tiled(first, last), output within the plane.
  std::optional<BlockTile> tile(std::size_t first, std::size_t last, const Region& output, std::size_t device);
  BlockTile whole(std::size_t first, std::size_t last, std::size_t device) const;

  /// Time of whole segments on a device.
  Seconds seconds(std::size_t first, std::size_t last, std::size_t device) const {
    return seconds_[device][last] - seconds_[device][first];
  }
  /// The first device that is equal to this one in all but its name, so that both can be exchanged in a plan.
  std::size_t kind(std::size_t device) const { return kinds_[device]; }
  Bytes weights(std::size_t first, std::size_t last) const { return weights_[last] - weights_[first]; }
  double multiply_adds() const { return multiply_adds_; }
  /// Bytes on the way of a region of the value before a segment.
  Bytes bytes(std::size_t segment, const Region& region) const {
    return problem_.encoded(values_[segment].cell * region.area());
  }

 private:
  /// A value within a segment, of which as much exists as its maker computes.
  struct Slot {
    std::size_t from, until;  // operators of the segment, which make it and use it last
    Bytes bytes;              // of all of it
  };
  struct SegmentTile {
    bool is_possible = false;
    Region input;
    std::vector<double> shares;  // of each operator of the segment
    double multiply_adds = 0;
    Bytes memory = 0;
  };
  struct RegionHash {
    std::size_t operator()(const Region& region) const;
  };

  void add_value(std::size_t position);
  void add_slots(const TileSegment& segment, const std::vector<std::size_t>& fused);
  void add_sums();
  void add_kinds();
  Bytes living(std::size_t segment, const Region& input, const std::vector<double>& shares) const;
  SegmentTile made_tile(std::size_t segment, const Region& output) const;
  const SegmentTile& tile_of(std::size_t segment, const Region& output);

  const TileProblem& problem_;
  const Tiling tiling_;
  std::vector<TileSegment> segments_;
  std::vector<std::size_t> starts_;
  std::vector<TileValue> values_;
  std::vector<std::vector<Slot>> slots_;       // of each segment, without the value before it
  std::vector<Bytes> whole_memory_;            // of each segment
  std::vector<double> node_multiply_adds_;     // of each operator
  std::vector<std::vector<Seconds>> seconds_;  // of each device, before each segment
  std::vector<Bytes> weights_;                 // before each segment
  double multiply_adds_ = 0;
  std::vector<std::size_t> kinds_;                                          // of each device
  std::vector<std::unordered_map<Region, SegmentTile, RegionHash>> tiles_;  // of each segment
};

}  // namespace mangrove::plan
