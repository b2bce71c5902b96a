#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/learn/loss.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Which parameters' changes go into a sum: a random set, which all of its workers draw alike. So the sum of what they
/// send is the sum of these changes. source: structured updates of Konečný et al., Federated learning, 2016.
struct SharedMask {
  double fraction = 1;  // of the parameters, in (0, 1]
  std::uint64_t seed = 0;
};

/// A worker's update as the words of a secure sum, and back from the sum. First comes the change of each parameter in
/// the mask, a word each; then, two words each, the states, the mean loss of a sample, and the share of samples that
/// were correct, at the output and at each early exit. Each counts by the worker's share of the samples.
///
/// right   The sum of the words of P workers is their plain sum, but for 6e-9 P in the mean change of a parameter and
///         12e-9 P in a state, where a third of them has dropped out (see secure::encode). A change beyond 16 counts as
///         16, a state beyond 2^20 as 2^20. Where some changes stay with the worker, what is beyond 16 does too.
/// threads any.
class SecureUpdate {
 public:
  /// exits: early exits of the network.
  SecureUpdate(std::size_t parameters, std::size_t states, std::size_t exits, const SharedMask& mask = {});

  std::size_t words() const { return sent_ + 2 * wide(); }
  /// Floats of the plain update that the words stand for.
  std::size_t floats() const { return parameters_ + states_; }
  /// Whether some changes stay with the worker.
  bool has_rest() const { return sent_ < parameters_; }

  struct Encoded {
    std::vector<std::uint32_t> words;
    std::vector<float> rest;  // if has_rest(): of each parameter's change, what is not in the words
  };
  /// values: the change of the parameters, then the states. weights: above 0, at most 1. step: of the update; each has
  /// a mask of its own.
  Encoded encode(std::span<const float> values, const learn::BatchStats& stats, const SumWeights& weights,
                 std::int64_t step) const;

  /// Sums over the samples of all workers in a sum.
  struct Total {
    std::string body;  // see GlobalModel::Part: the change times the samples, and the mean of the states
    learn::BatchStats stats;
  };
  /// asked: the samples that the shares are of. samples: those of the workers that are in the sum.
  Total decode(std::span<const std::uint32_t> words, std::int64_t asked, std::int64_t samples, std::int64_t step) const;

 private:
  std::size_t wide() const { return states_ + 2 + exits_; }

  /// The parameters in the mask of a step, in ascending order. REQUIRES: has_rest().
  std::vector<std::size_t> mask(std::int64_t step) const;

  std::size_t parameters_, states_, exits_, sent_;
  std::uint64_t seed_;
};

}  // namespace mangrove::train
