#include "mangrove/serve/model_counters.h"

#include <algorithm>
#include <chrono>

namespace mangrove::serve {
namespace {

void add_duration(DurationCount& counter, Seconds duration) {
  ++counter.count;
  counter.nanoseconds += static_cast<std::uint64_t>(std::max(duration, 0.0) * 1e9);
}

std::uint64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

void ModelCounters::add_batch(std::int64_t samples, const BatchTimes& times) {
  const MutexLock lock(mutex_);
  ++counts_.executions;
  ModelStatistics::Batch& batch = counts_.batches[samples];
  add_duration(batch.compute_input, times.input);
  add_duration(batch.compute_infer, times.infer);
  add_duration(batch.compute_output, times.output);
}

void ModelCounters::add_success(std::int64_t samples, const RequestTimes& times, Seconds took) {
  latencies_.answered(took);
  const MutexLock lock(mutex_);
  counts_.inferences += static_cast<std::uint64_t>(samples);
  counts_.last_inference = milliseconds_since_1970();
  add_duration(counts_.success, took);
  add_duration(counts_.queue, times.queue);
  add_duration(counts_.compute_input, times.compute.input);
  add_duration(counts_.compute_infer, times.compute.infer);
  add_duration(counts_.compute_output, times.compute.output);
}

void ModelCounters::add_failure(Seconds took) {
  const MutexLock lock(mutex_);
  add_duration(counts_.fail, took);
}

void ModelCounters::add_refusal(Seconds took) {
  const MutexLock lock(mutex_);
  ++counts_.refused;
  add_duration(counts_.fail, took);
}

ModelStatistics ModelCounters::read() const {
  const TrafficCounts latencies = latencies_.counts();
  const MutexLock lock(mutex_);
  ModelStatistics statistics = counts_;
  statistics.p50 = latencies.quantile(0.5);
  statistics.p99 = latencies.quantile(0.99);
  return statistics;
}

}  // namespace mangrove::serve
