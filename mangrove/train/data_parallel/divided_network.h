#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/learn/memory_budget.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/data_parallel/network_shard.h"
#include "mangrove/train/pipeline/stage.h"

namespace mangrove::train {

/// A worker's shard of a network, compiled in three parts: the operators before the divided pair of layers, the pair,
/// and the operators behind it. threads: one at a time.
class DividedNetwork {
 public:
  struct Options {
    std::int64_t rows = 1;     // of a micro-batch
    std::int64_t members = 1;  // workers whose micro-batches are in the pair at once
    std::string backend;       // "": the fastest
    int threads = 1;
  };
  struct Part {
    std::unique_ptr<Stage> stage;  // null: there are no operators before the pair
    Range parameters;              // of the shard's flat vector of parameters, in elements
    Range states;                  // of the shard's flat vector of states
    Range names;                   // positions in the shard's graph().parameters()
  };

  /// errors: those of Stage::create.
  static Result<std::unique_ptr<DividedNetwork>> create(const NetworkShard& shard, const Options& options,
                                                        const learn::MemoryBudget& budget);

  Part& bottom() { return parts_[0]; }
  Part& pair() { return parts_[1]; }
  Part& top() { return parts_[2]; }

  /// Sets the parameters and states. All gradients are 0 afterwards. values: the shard's parameters, then its states.
  void write(std::span<const float> values);
  /// The gradients of this part, to their places in a vector like that of write().
  void read_gradients(Part& part, std::span<float> values);
  /// The states, to their places in such a vector.
  void read_states(std::span<float> values);

 private:
  DividedNetwork() = default;
  static std::vector<float> sums_of(Part& part);

  std::size_t parameters_ = 0;  // elements
  Part parts_[3];
};

}  // namespace mangrove::train
