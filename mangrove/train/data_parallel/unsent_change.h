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
  /// Adds it to a change that was made from the values of this version. If the values have moved on since the last sum,
  /// that sum is in them. Otherwise it came to nothing: its samples are trained on again, and what it left out is in
  /// the new change.
  void add_to(std::span<float> change, std::int64_t version) {
    if (last_ && version > last_->step) unsent_ = std::move(last_->rest);
    last_.reset();
    for (std::size_t i = 0; i < unsent_.size(); ++i) change[i] += unsent_[i];
  }

  /// The sum that makes this step has left `rest` out of the last change, which had all that was unsent before.
  void leave_out(std::int64_t step, std::vector<float> rest) { last_ = {step, std::move(rest)}; }

 private:
  struct Sum {
    std::int64_t step;
    std::vector<float> rest;
  };
  std::vector<float> unsent_;  // of all sums but the last
  std::optional<Sum> last_;
};

}  // namespace mangrove::train
