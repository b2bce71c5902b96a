#pragma once

#include <cstdint>

namespace mangrove::learn {

/// The best validation so far. Better is a higher accuracy, or as high a one with a lower loss.
struct BestModel {
  std::int64_t epoch = 0;  // after which it was measured, from 1; 0: there was none yet
  double accuracy = 0;
  double loss = 0;

  /// Takes this validation if it is better. Returns whether it is.
  bool observe(std::int64_t after_epoch, double validation_accuracy, double validation_loss);
  /// Whether `patience` epochs have passed without a better one; never with patience 0.
  bool is_stale(std::int64_t epochs_done, std::int64_t patience) const {
    return patience > 0 && epochs_done - epoch >= patience;
  }
};

}  // namespace mangrove::learn
