#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/serve/batch_queue.h"
#include "mangrove/serve/model_options.h"

namespace mangrove::serve {

/// A network compiled for batches of 1, 2, 4 ... samples, so that few samples cost little. Each size has its own copy
/// of the weights, which its instances share: kernels of different sizes want them in different layouts. So a network
/// of much weight is compiled for the smallest and the largest batch only; and none that goes beyond the memory which
/// the options allow. Batches between two sizes are filled up with zeros.
///
/// A sample's result does not depend on the other samples of its batch, but for rounding on how many there are: kernels
/// add up in another order for another size.
/// threads: each instance one at a time; instances at once.
class BatchedNetwork {
 public:
  /// Takes its own copy of the weights and keeps nothing of the graph's. A network without a batch (see has_batch) is
  /// compiled for one sample. errors: resource_exhausted (one sample takes more than options.memory: says how much);
  /// those of optimize, Program::compile and Execution::create.
  static Result<std::unique_ptr<BatchedNetwork>> create(const Graph& graph, const ModelOptions& options);

  /// Samples that a batch may have: at most options.max_batch.
  std::int64_t max_batch() const { return sizes_.rbegin()->first; }
  /// The batches that it is compiled for, the smallest first.
  std::vector<std::int64_t> sizes() const;
  /// Of weights and activations, of all sizes and instances.
  Bytes memory() const { return memory_; }

  /// How many of the next `count` samples, up to max_batch(), are best computed at once: all of them, unless the size
  /// that takes them would mostly compute zeros.
  std::int64_t samples_at_once(std::int64_t count) const;

  /// Computes the parts, of no more than max_batch() samples together, and writes the results of their requests.
  BatchTimes run(std::size_t instance, std::span<const BatchPart> parts);

 private:
  struct Value {
    std::string name;
    ValueInfo info;
  };
  BatchedNetwork() = default;
  Status compile_sizes(const Graph& graph, const ModelOptions& options, std::int64_t max_batch);
  Result<bool> compile_if_it_fits(const Graph& graph, const ModelOptions& options, std::int64_t size);
  Status compile(const Graph& graph, const ModelOptions& options, std::int64_t size);
  void collect(Execution& execution, std::int64_t size, std::span<const BatchPart> parts) const;
  void hand_out(Execution& execution, std::int64_t size, std::span<const BatchPart> parts) const;

  std::vector<Value> inputs_, outputs_;
  std::map<std::int64_t, std::vector<std::unique_ptr<Execution>>> sizes_;  // by samples; of each instance
  Bytes memory_ = 0;
};

}  // namespace mangrove::serve
