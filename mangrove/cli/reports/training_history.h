#pragma once

#include <nlohmann/json_fwd.hpp>

#include "mangrove/cli/reports/thinned_curve.h"
#include "mangrove/job/progress.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {

/// How a training went, against the epoch that it was at.
struct TrainingHistory {
  ThinnedCurve loss, accuracy;  // shares, as all accuracies
  ThinnedCurve validation_loss, validation_accuracy;
  ThinnedCurve learning_rate;
  ThinnedCurve images_per_s;
  ThinnedCurve epsilon;              // of training with `privacy`
  ThinnedCurve accuracy_by_seconds;  // of the validation, against the seconds of training

  /// A line of metrics.jsonl, of any kind.
  void take(const nlohmann::json& line);

 private:
  void take_progress(const job::Progress& progress);
  void take_epoch(const train::EpochReport& epoch);
};

}  // namespace mangrove::cli
