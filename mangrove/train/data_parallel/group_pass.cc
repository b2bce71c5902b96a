#include "mangrove/train/data_parallel/group_pass.h"

#include <algorithm>
#include <utility>

#include "mangrove/net/payload.h"

namespace mangrove::train {
namespace {

using Phase = StepTimer::Phase;

// Streams of the reduction's channel, see the steps of GroupPass.
constexpr std::uint32_t kFeatures = AllReduceWorker::kFirstFreeStream;
constexpr std::uint32_t kParts = kFeatures + 1;
constexpr std::uint32_t kGradients = kFeatures + 2;
constexpr std::uint32_t kFeatureGradients = kFeatures + 3;

constexpr std::int64_t kOnly = 0;  // the number of the micro-batch in parts that have one at a time

}  // namespace

GroupPass::GroupPass(const Tools& tools, Members members)
    : tools_(tools), members_(std::move(members)), state_(members_.ranks.size()) {}

Result<bool> GroupPass::run(std::span<const float> input, std::uint64_t seed, const LossGradient& loss) {
  seed_ = seed;
  begin(input);
  while (!is_done()) {
    tools_.timer.enter(Phase::compute);
    if (advance(loss)) continue;
    net::RankSet from;
    for (std::size_t member = 0; member < state_.size(); ++member)
      if (is_awaited(member)) from.push_back(members_.ranks[member]);
    tools_.timer.enter(Phase::wire);
    MG_TRY(const bool goes_on, tools_.reduction.wait_for(from));
    if (!goes_on) return false;
  }
  tools_.timer.enter(Phase::compute);
  return true;
}

/// Whether the member has to send something next. What it can send only after this worker has sent something else does
/// not count, so that nobody is blamed in vain.
bool GroupPass::is_awaited(std::size_t member) const {
  if (member == members_.me) return false;
  const Member& state = state_[member];
  if (members_.rows[member] > 0 && (!state.is_forward || (!state.is_backward && !state.gradient))) return true;
  if (!is_mine()) return false;
  return is_through_ ? !is_finished_ && !state.features : !state.part;
}

bool GroupPass::is_done() const {
  if (is_mine() && !is_finished_) return false;
  for (std::size_t member = 0; member < state_.size(); ++member)
    if (members_.rows[member] > 0 && !state_[member].is_backward) return false;
  return true;
}

void GroupPass::send(std::size_t member, std::uint32_t stream, std::span<const float> values) {
  tools_.reduction.parts().send(members_.ranks[member], stream, values);
}

/// What a member has sent, if it has come and has this length. Otherwise it counts as lost.
std::optional<std::vector<float>> GroupPass::take(std::size_t member, std::uint32_t stream, std::size_t floats) {
  const net::Rank rank = members_.ranks[member];
  const auto arrived = tools_.reduction.parts().take(rank, stream);
  if (!arrived) return std::nullopt;
  std::vector<float> values(floats);
  if (net::read_floats(arrived->body(), values).ok()) return values;
  tools_.reduction.parts().refuse(rank, stream);
  return std::nullopt;
}

/// Rows of the parts' micro-batch: these, and zeros behind them.
std::vector<float> GroupPass::padded(std::span<const float> rows, std::size_t width) const {
  std::vector<float> all(static_cast<std::size_t>(tools_.network.pair().stage->options().micro_batch) * width);
  std::ranges::copy(rows, all.begin());
  return all;
}

/// Rows of the parts' micro-batch: these, again and again, so that the statistics of batch normalization are of samples
/// only.
std::vector<float> GroupPass::repeated(std::span<const float> rows, std::size_t width) const {
  std::vector<float> all = padded(rows, width);
  for (std::size_t i = rows.size(); i < all.size(); ++i) all[i] = all[i - rows.size()];
  return all;
}

void GroupPass::charge(const DividedNetwork::Part& part, double passes) {
  tools_.context.device.charge(passes * part.stage->forward_flops());
}

/// Step 1.
void GroupPass::begin(std::span<const float> input) {
  if (!is_mine()) return;
  DividedNetwork::Part& bottom = tools_.network.bottom();
  std::span<const float> values = input;
  if (bottom.stage != nullptr) {
    charge(bottom, 1);
    tools_.timer.enter(Phase::compute);
    values = bottom.stage->forward(kOnly, input, seed_);
  }
  own_features_.assign(values.begin(),
                       values.begin() + static_cast<std::ptrdiff_t>(members_.rows[members_.me] * features()));
  for (std::size_t member = 0; member < state_.size(); ++member)
    if (member != members_.me) send(member, kFeatures, own_features_);
}

/// Does whatever can be done with what has come. Returns false if that is nothing.
bool GroupPass::advance(const LossGradient& loss) {
  bool has_advanced = false;
  for (std::size_t member = 0; member < state_.size(); ++member) has_advanced |= forward_pair(member);
  if (is_mine() && !is_through_) has_advanced |= use_parts(loss);
  for (std::size_t member = 0; member < state_.size(); ++member) {
    Member& state = state_[member];
    if (members_.rows[member] > 0 && member != members_.me && !state.is_backward && !state.gradient)
      state.gradient = take(member, kGradients, members_.rows[member] * outputs());
  }
  for (std::size_t member = 0; member < state_.size(); ++member) {
    if (members_.rows[member] == 0 || state_[member].is_backward) continue;
    if (!backward_pair(member)) break;  // in this order only
    has_advanced = true;
  }
  if (is_mine() && is_through_ && !is_finished_) has_advanced |= use_gradients();
  return has_advanced;
}

/// Step 2, for one member's micro-batch.
bool GroupPass::forward_pair(std::size_t member) {
  const std::size_t rows = members_.rows[member];
  Member& state = state_[member];
  if (rows == 0 || state.is_forward) return false;
  const bool is_own = member == members_.me;
  std::optional<std::vector<float>> values =
      is_own ? std::optional(own_features_) : take(member, kFeatures, rows * features());
  if (!values) return false;
  DividedNetwork::Part& pair = tools_.network.pair();
  charge(pair, 1);
  const std::uint64_t seed = seed_ + members_.ranks.size() * (member + 1);  // no two parts drop the same hidden values
  const std::span<const float> part =
      pair.stage->forward(static_cast<std::int64_t>(member), padded(*values, features()), seed).first(rows * outputs());
  state.is_forward = true;
  if (is_own) {
    state.part = std::vector<float>(part.begin(), part.end());
  } else {
    send(member, kParts, part);
  }
  return true;
}

/// The sum of what all members have sent for this worker's micro-batch, in their order, once all of it is there.
std::optional<std::vector<float>> GroupPass::sum_of(std::optional<std::vector<float>> Member::*values,
                                                    std::uint32_t stream, std::size_t floats) {
  bool is_complete = true;
  for (std::size_t member = 0; member < state_.size(); ++member) {
    std::optional<std::vector<float>>& of_member = state_[member].*values;
    if (!of_member && member != members_.me) of_member = take(member, stream, floats);
    is_complete = is_complete && of_member;
  }
  if (!is_complete) return std::nullopt;
  std::vector<float> sum(floats, 0.0f);
  for (const Member& state : state_)
    for (std::size_t i = 0; i < floats; ++i) sum[i] += (*(state.*values))[i];
  return sum;
}

/// Step 3, once all parts are there.
bool GroupPass::use_parts(const LossGradient& loss) {
  const std::size_t floats = members_.rows[members_.me] * outputs();
  const std::optional<std::vector<float>> sum = sum_of(&Member::part, kParts, floats);
  if (!sum) return false;
  DividedNetwork::Part& top = tools_.network.top();
  charge(top, 3);
  constexpr std::uint64_t kOtherSeed = 0x9e3779b97f4a7c15;  // else bottom and top would drop the same values
  const std::span<const float> logits = top.stage->forward(kOnly, repeated(*sum, outputs()), seed_ ^ kOtherSeed);
  std::vector<float> of_loss(logits.size());
  loss(logits, of_loss);
  const std::span<const float> of_all = top.stage->backward(kOnly, of_loss);
  std::vector<float> gradient(of_all.begin(), of_all.begin() + static_cast<std::ptrdiff_t>(floats));
  for (std::size_t i = floats; i < of_all.size(); ++i) gradient[i % floats] += of_all[i];  // of the same samples again
  is_through_ = true;
  is_finished_ = !learns_before();
  if (is_finished_ && tools_.network.bottom().stage != nullptr) tools_.network.bottom().stage->reset();
  state_[members_.me].gradient = std::move(gradient);
  for (std::size_t member = 0; member < state_.size(); ++member)
    if (member != members_.me) send(member, kGradients, *state_[members_.me].gradient);
  return true;
}

/// Step 4, for one member's micro-batch.
bool GroupPass::backward_pair(std::size_t member) {
  const std::size_t rows = members_.rows[member];
  Member& state = state_[member];
  if (!state.is_forward || !state.gradient) return false;
  DividedNetwork::Part& pair = tools_.network.pair();
  charge(pair, 2);
  const std::span<const float> all =
      pair.stage->backward(static_cast<std::int64_t>(member), padded(*state.gradient, outputs()));
  state.gradient.reset();
  state.is_backward = true;
  if (!learns_before()) return true;
  const std::span<const float> gradients = all.first(rows * features());
  if (member == members_.me) {
    state.features = std::vector<float>(gradients.begin(), gradients.end());
  } else {
    send(member, kFeatureGradients, gradients);
  }
  return true;
}

/// Step 5, once all gradients are there.
bool GroupPass::use_gradients() {
  const std::size_t floats = members_.rows[members_.me] * features();
  const std::optional<std::vector<float>> sum = sum_of(&Member::features, kFeatureGradients, floats);
  if (!sum) return false;
  DividedNetwork::Part& bottom = tools_.network.bottom();
  charge(bottom, 2);
  bottom.stage->backward(kOnly, padded(*sum, features()));
  is_finished_ = true;
  return true;
}

}  // namespace mangrove::train
