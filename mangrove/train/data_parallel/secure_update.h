#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/learn/loss.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// A worker's update as the words of a secure sum, and back from the sum. First comes the change of each parameter, a
/// word each; then, two words each, the states, the mean loss of a sample, and the share of samples that were correct,
/// at the output and at each early exit. Each counts by the worker's share of the samples.
///
/// right   The sum of the words of P workers is their plain sum, but for 6e-9 P in the mean change of a parameter and
///         12e-9 P in a state, where a third of them has dropped out (see secure::encode). A change beyond 16 counts as
///         16, a state beyond 2^20 as 2^20.
/// threads any.
class SecureUpdate {
 public:
  /// exits: early exits of the network.
  SecureUpdate(std::size_t parameters, std::size_t states, std::size_t exits)
      : parameters_(parameters), states_(states), exits_(exits) {}

  std::size_t words() const { return parameters_ + 2 * wide(); }

  /// values: the change of the parameters, then the states. weights: above 0, at most 1.
  std::vector<std::uint32_t> encode(std::span<const float> values, const learn::BatchStats& stats,
                                    const SumWeights& weights) const;

  /// Sums over the samples of all workers in a sum.
  struct Total {
    std::string body;  // see GlobalModel::Part: the change times the samples, and the mean of the states
    learn::BatchStats stats;
  };
  /// asked: the samples that the shares are of. samples: those of the workers that are in the sum.
  Total decode(std::span<const std::uint32_t> words, std::int64_t asked, std::int64_t samples) const;

 private:
  std::size_t wide() const { return states_ + 2 + exits_; }

  std::size_t parameters_, states_, exits_;
};

}  // namespace mangrove::train
