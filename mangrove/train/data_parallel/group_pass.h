#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/data_parallel/all_reduce_worker.h"
#include "mangrove/train/data_parallel/divided_network.h"
#include "mangrove/train/data_parallel/layer_pair.h"
#include "mangrove/train/step_timer.h"

namespace mangrove::train {

/// A worker's part in the forward and backward pass of one micro-batch of each worker of a group. The workers divide a
/// pair of layers.
///
///   1. A worker computes the features of its micro-batch, which go into the pair, and sends them to all others.
///   2. Each worker computes its part of the pair for the features of everyone, and sends everyone what it gives.
///   3. A worker adds up the parts that it got for its own micro-batch, and computes the rest of the network and the
///      loss. It sends the gradient of the sum to all others: it is the gradient of each part, too.
///   4. Each worker computes the gradients of its part of the pair for everyone's micro-batch, and sends everyone those
///      of their features.
///   5. A worker adds these up, and computes the gradients of what is before the pair.
///
/// right    The pair's output is the sum of the parts' outputs, and so is the gradient of its input.
/// order    Parts are added in the order of the group, and so are the gradients of weights over micro-batches: two runs
///          are bit-equal, whatever comes first.
/// cost     A worker sends 2 (G-1) b (features + outputs) floats, where G workers have b samples each. Without
///          parameters before the pair there are no gradients of features, and step 5 is left out.
/// source   Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014, section 4, scheme (b):
///          the workers take turns in being the one whose micro-batch goes through the layers.
/// threads: one at a time.
class GroupPass {
 public:
  struct Tools {
    job::RoleContext& context;
    DividedNetwork& network;
    AllReduceWorker& reduction;  // whose channel the values take, and which has begun
    StepTimer& timer;
    const LayerPair& pair;
  };
  struct Members {
    std::span<const net::Rank> ranks;  // of the group
    std::size_t me = 0;                // this worker's position among them
    std::vector<std::size_t> rows;     // of each one's micro-batch; 0: it has none
  };
  /// The loss's gradient of the network's outputs, from these: both for the rows of a micro-batch.
  using LossGradient = std::function<void(std::span<const float> logits, std::span<float> gradient)>;

  GroupPass(const Tools& tools, Members members);

  /// input: the network's inputs for the rows of a micro-batch, as many as the parts are compiled for; those behind
  /// this worker's own rows are padding. seed: for random numbers (dropout), of this worker and this micro-batch.
  /// Returns false if the leader has other work, or the reduction fails. errors: cancelled.
  Result<bool> run(std::span<const float> input, std::uint64_t seed, const LossGradient& loss);

 private:
  /// What has come of a member's micro-batch, and of this worker's from that member.
  struct Member {
    std::optional<std::vector<float>> gradient;        // of the pair's outputs; until it is used
    bool is_forward = false, is_backward = false;      // its micro-batch in this worker's part of the pair
    std::optional<std::vector<float>> part, features;  // for this worker's: outputs, and gradients of features
  };
  std::size_t features() const { return static_cast<std::size_t>(tools_.pair.features); }
  std::size_t outputs() const { return static_cast<std::size_t>(tools_.pair.outputs); }
  bool learns_before() const { return tools_.pair.elements_before > 0; }
  bool is_mine() const { return members_.rows[members_.me] > 0; }
  bool is_awaited(std::size_t member) const;
  bool is_done() const;
  void send(std::size_t member, std::uint32_t stream, std::span<const float> values);
  std::optional<std::vector<float>> take(std::size_t member, std::uint32_t stream, std::size_t floats);
  std::optional<std::vector<float>> sum_of(std::optional<std::vector<float>> Member::*values, std::uint32_t stream,
                                           std::size_t floats);
  bool advance(const LossGradient& loss);
  bool forward_pair(std::size_t member);
  bool backward_pair(std::size_t member);
  void begin(std::span<const float> input);
  bool use_parts(const LossGradient& loss);
  bool use_gradients();
  std::vector<float> padded(std::span<const float> rows, std::size_t width) const;
  std::vector<float> repeated(std::span<const float> rows, std::size_t width) const;
  void charge(const DividedNetwork::Part& part, double passes);

  const Tools tools_;
  const Members members_;
  std::uint64_t seed_ = 0;
  std::vector<Member> state_;
  std::vector<float> own_features_;
  bool is_through_ = false;   // the top has computed the gradient
  bool is_finished_ = false;  // and the bottom, too
};

}  // namespace mangrove::train
