#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::exits {

/// A network with early exits beside the same network without, over one data set.
struct ExitEvaluation {
  struct Exit {
    std::int64_t samples = 0;  // that left there
    std::int64_t correct = 0;
  };
  learn::ConfusionMatrix confusion, whole_confusion;  // with exits; without
  std::vector<Exit> exits;
  Seconds seconds = 0, whole_seconds = 0;  // of computing, for all samples: with exits; without
};

/// Classifies some batches of options.micro_batch samples with exits, then the same without, then the next ones, so
/// that both are measured in the same circumstances, and each with its own weights in the caches. What programs take to
/// compile does not count. progress: told now and then how many samples are done. errors: those of check_fits,
/// EarlyExit::create, classify() and Loader::next; cancelled.
Result<ExitEvaluation> evaluate_exits(const Graph& graph, const std::vector<float>& thresholds,
                                      const CompiledStageOptions& options, std::shared_ptr<const data::Dataset> dataset,
                                      std::shared_ptr<const data::Augmentation> augmentation, const Clock& clock,
                                      std::stop_token stop,
                                      const std::function<void(std::int64_t done)>& progress = {});

}  // namespace mangrove::exits
