#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/units.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/exits/segment.h"

namespace mangrove::exits {

/// What every exit of a network says of samples whose classes are known, and what its segments cost.
struct ExitRecords {
  std::size_t exits = 0;                                 // with the last
  std::vector<float> entropies;                          // [samples, exits]
  std::vector<std::uint8_t> correct;                     // [samples, exits]: 1 where the exit is right
  std::int64_t batch = 1;                                // samples that come at once
  std::vector<std::map<std::int64_t, Seconds>> seconds;  // of each segment: of a run of so many samples
  std::vector<Bytes> passed;                             // behind each segment, of one sample

  std::size_t samples() const { return entropies.size() / exits; }
};

/// Runs all samples through all exits, in batches of options.micro_batch, and times the segments on batches of each
/// size that they are compiled for. progress: told after each batch how many samples are done. errors: those of
/// check_classifier, check_fits, make_exit_segments, ExitSegment::run and Loader::next; invalid_argument (no samples);
/// cancelled.
Result<ExitRecords> record_exits(const Graph& graph, const CompiledStageOptions& options,
                                 std::shared_ptr<const data::Dataset> dataset,
                                 std::shared_ptr<const data::Augmentation> augmentation, const Clock& clock,
                                 std::stop_token stop, const std::function<void(std::int64_t done)>& progress = {});

/// What thresholds, one for each exit but the last, come to.
struct ExitForecast {
  struct Exit {
    double share = 0;     // of the samples that leave there
    double accuracy = 0;  // of these
  };
  double accuracy = 0;
  Seconds seconds = 0;         // for a sample: of segments, each on as many of a batch as come to it
  std::vector<double> passed;  // bytes behind each exit for a sample, those that pass nothing counted too
  std::vector<Exit> exits;
};
ExitForecast forecast(const ExitRecords& records, const std::vector<float>& thresholds);

/// What thresholds are to reach, on the recorded samples.
struct ExitTarget {
  enum class Kind {
    accuracy,  // at most `value` (a share) below the last exit's; then as fast as can be
    latency,   // at most `value` seconds for a sample; then as accurate as can be
    traffic    // at most `value` bytes for a sample behind exit `exit`; then as accurate as can be
  } kind = Kind::accuracy;
  double value = 0.003;
  std::size_t exit = 0;  // from 0
};

/// The best thresholds of a grid over the quantiles of each exit's entropies. cost: about 5e8 steps; more where there
/// are many exits. errors: failed_precondition (the target is out of reach: says what can be reached); invalid_argument
/// (a single exit, or no such early exit); cancelled.
Result<std::vector<float>> tune_exits(const ExitRecords& records, const ExitTarget& target, std::stop_token stop);

}  // namespace mangrove::exits
