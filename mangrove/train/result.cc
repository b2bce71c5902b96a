#include "mangrove/train/result.h"

#include <algorithm>

namespace mangrove::train {

ExchangeReport::ExchangeReport(const TransferStats& stats)
    : messages(stats.messages),
      bytes(stats.bytes),
      float_bytes(stats.float_bytes),
      compression(static_cast<double>(stats.float_bytes) /
                  static_cast<double>(std::max<std::int64_t>(1, stats.bytes))) {}

void TrainResult::set_best(const learn::BestModel& best) {
  best_epoch.reset();
  best_validation_accuracy.reset();
  best_validation_loss.reset();
  if (best.epoch == 0) return;
  best_epoch = best.epoch;
  best_validation_accuracy = best.accuracy;
  best_validation_loss = best.loss;
}

}  // namespace mangrove::train
