#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::plan {

/// Something that works on every micro-batch: a stage, or the reading of samples beside the first one.
struct PipelineLoad {
  Seconds seconds = 0;   // for one micro-batch
  int device = 0;        // one device does one of its loads at a time
  std::size_t host = 0;  // index into the hosts: the machine whose cores the device uses
  int threads = 1;       // cores that it keeps busy meanwhile
};

struct PipelinePrediction {
  Seconds period = 0;   // between two micro-batches that leave the full pipeline
  Seconds seconds = 0;  // from the first micro-batch's start to the last one's end
};

/// How long `micro_batches` micro-batches take through a pipeline. The period is the larger of: the busiest device's
/// time per micro-batch, and, for each host, its busy core-seconds per micro-batch over its cores (devices that share a
/// machine cannot all run at once). Filling the pipeline takes the sum of all loads once.
/// host_cores[h] > 0; a processor quota of 0.2 of a core counts as 0.2. source: Huang et al., GPipe, NeurIPS 2019
/// (forward only), with cores shared as above.
PipelinePrediction predict_pipeline(std::span<const PipelineLoad> loads, std::span<const double> host_cores,
                                    std::size_t micro_batches);

}  // namespace mangrove::plan
