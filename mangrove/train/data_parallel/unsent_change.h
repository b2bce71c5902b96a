#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mangrove::train {

/// What the masks of secure sums have left out of a worker's changes. It is added to later ones, so nothing is lost
/// (error feedback).
/// threads: one at a time.
class UnsentChange {
 public:
  /// Adds it to a new change. counted: the last step whose sum has a change of this worker, as the leader says. Where
  /// that is not the step of the last one, it was not in the sum, or there was none: its samples are trained on again,
  /// by whomever, so it is forgotten with what was left out of it. Only what was unsent before is kept.
  void add_to(std::span<float> change, std::optional<std::int64_t> counted) {
    if (last_ && counted == last_->step) unsent_ = std::move(last_->rest);
    last_.reset();
    for (std::size_t i = 0; i < unsent_.size(); ++i) change[i] += unsent_[i];
  }

  /// The last change, which had all that was unsent before, was given to the sum that makes this step, but for `rest`.
  void leave_out(std::int64_t step, std::vector<float> rest) { last_ = {step, std::move(rest)}; }

 private:
  struct Sum {
    std::int64_t step;
    std::vector<float> rest;
  };
  std::vector<float> unsent_;  // before the last change
  std::optional<Sum> last_;
};

}  // namespace mangrove::train
