#include "mangrove/plan/pipeline_cost.h"

#include <algorithm>
#include <map>

#include "mangrove/base/check.h"

namespace mangrove::plan {

PipelinePrediction predict_pipeline(std::span<const PipelineLoad> loads, std::span<const double> host_cores,
                                    std::size_t micro_batches) {
  std::map<int, Seconds> device_seconds;
  std::vector<Seconds> core_seconds(host_cores.size(), 0.0);
  Seconds fill = 0;
  for (const PipelineLoad& load : loads) {
    MG_CHECK(load.host < host_cores.size() && host_cores[load.host] > 0);
    device_seconds[load.device] += load.seconds;
    core_seconds[load.host] += load.seconds * std::min<double>(load.threads, host_cores[load.host]);
    fill += load.seconds;
  }
  PipelinePrediction prediction;
  for (const auto& [device, seconds] : device_seconds) prediction.period = std::max(prediction.period, seconds);
  for (std::size_t h = 0; h < host_cores.size(); ++h) {
    prediction.period = std::max(prediction.period, core_seconds[h] / host_cores[h]);
  }
  if (micro_batches > 0) {
    prediction.seconds = fill + prediction.period * static_cast<double>(micro_batches - 1);
  }
  return prediction;
}

}  // namespace mangrove::plan
