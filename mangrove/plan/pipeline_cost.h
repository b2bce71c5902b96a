#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::plan {

/// Work that is done for every micro-batch: a stage, or the reading of samples beside the first stage.
struct PipelineLoad {
  Seconds seconds = 0;   // for one micro-batch
  int device = 0;        // the device; it does one of its loads at a time
  std::size_t host = 0;  // index of the machine whose cores the device uses
  int threads = 1;       // cores that it keeps busy
};

struct PipelinePrediction {
  Seconds period = 0;   // time between two micro-batches that leave the full pipeline
  Seconds seconds = 0;  // time from the first micro-batch's start to the last one's end
};

/// The predicted time of `micro_batches` micro-batches through a pipeline. The period is the largest of these: the time
/// for a micro-batch on the busiest device; and, for each host, the busy core-seconds for a micro-batch divided by its
/// cores, because devices that share a machine cannot all run at the same time. Filling the pipeline takes the sum of
/// all loads once. host_cores[h] > 0; a processor quota of 0.2 of a core counts as 0.2.
/// source: Huang et al., GPipe, NeurIPS 2019 (forward only), with shared cores added.
PipelinePrediction predict_pipeline(std::span<const PipelineLoad> loads, std::span<const double> host_cores,
                                    std::size_t micro_batches);

}  // namespace mangrove::plan
