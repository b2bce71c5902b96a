#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/plan/tile_clock.h"
#include "mangrove/plan/tile_costs.h"
#include "mangrove/plan/tile_plan.h"

namespace mangrove::plan {

/// A tile of a block on a device, with its cost there.
struct TileTask {
  std::size_t device = 0;
  Region output;  // of the plane that is divided; of a whole block: nothing
  Region made;    // what the device then has of the value behind the block
  BlockTile cost;
};

/// A block of segments [first, last), with its tasks.
struct TileStep {
  std::size_t first = 0, last = 0;
  std::vector<TileTask> tasks;

  bool is_tiled() const { return tasks.size() > 1; }
};

/// The block as a whole on one device.
TileStep whole_step(const TileCosts& costs, std::size_t first, std::size_t last, std::size_t device);
/// The block in these tiles. Nothing: it cannot be computed in them. REQUIRES: as TileCosts::tile().
std::optional<TileStep> tiled_step(TileCosts& costs, std::size_t first, std::size_t last,
                                   std::span<const TilePart> parts);

/// One micro-batch on its way through a plan, block by block. This defines a plan's latency, period and memory. A copy
/// goes on independently.
class TileRun {
 public:
  /// The micro-batch is on the device `source`. costs, links: must outlive it.
  TileRun(const TileCosts& costs, const TileLinks& links, std::size_t source);

  /// Computes the next block, which begins where the last one ended. Returns the messages before it.
  std::vector<TileMessage> advance(const TileStep& step);
  /// Behind the last block: where it is tiled, its tiles are sent to the source. Returns these messages.
  std::vector<TileMessage> finish();

  std::size_t source() const { return source_; }
  const TileClock& clock() const { return clock_; }
  TileClock& clock() { return clock_; }
  /// When the first, and when the last of the devices that have the value behind the last block are done.
  Seconds earliest() const;
  Seconds latest() const { return clock_.done(last_device()); }
  std::size_t last_device() const;
  /// Memory of a device's process so far. 0: it has had nothing to do.
  Bytes memory(std::size_t device) const;
  /// The largest share of its limit that a device needs so far. 0: none has a limit.
  double memory_share() const;

 private:
  /// A region of a value on a device.
  struct Held {
    std::size_t device;
    Region region;
  };
  struct MemoryUse {
    bool is_used = false;
    Bytes weights = 0;
    Bytes values = 0;  // of the block that needs most
  };
  void use_memory(const TileTask& task, Bytes weights, Bytes held);

  const TileCosts* costs_;
  TileClock clock_;
  std::size_t source_;
  std::vector<Held> held_;  // the value behind the last block
  std::vector<MemoryUse> memory_;
};

}  // namespace mangrove::plan
