#include "mangrove/infer/result.h"

#include <algorithm>
#include <cmath>

#include "mangrove/learn/metrics.h"

namespace mangrove::infer {
namespace {

/// The least latency that such a share of all does not exceed. 0 of none.
Seconds percentile(std::span<const Seconds> ascending, double share) {
  if (ascending.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(ascending.size()));
  return ascending[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

Json latency_json(std::vector<Seconds> latencies) {
  std::ranges::sort(latencies);
  return {{"p50_s", percentile(latencies, 0.5)},
          {"p95_s", percentile(latencies, 0.95)},
          {"p99_s", percentile(latencies, 0.99)}};
}

Json answers_json(const InferJob& job, const Hello& data, std::span<const std::int32_t> truths,
                  std::span<const std::int32_t> predictions, Seconds seconds) {
  learn::ConfusionMatrix confusion(data.classes_size());
  for (std::size_t i = 0; i < predictions.size(); ++i)
    if (predictions[i] >= 0) confusion.add(truths[i], predictions[i]);
  return {{"strategy", job.strategy()},
          {"images", data.samples()},
          {"accuracy", confusion.accuracy()},
          {"macro_f1", confusion.macro_f1()},
          {"images_per_s", per_second(data.samples(), seconds)},
          {"seconds", seconds},
          {"micro_batch", job.micro_batch()}};
}

}  // namespace mangrove::infer
