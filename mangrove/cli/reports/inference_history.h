#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/cli/reports/thinned_curve.h"
#include "mangrove/cli/reports/time_histogram.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/tiers/report.h"
#include "mangrove/infer/views/report.h"
#include "mangrove/job/progress.h"

namespace mangrove::cli {

/// How inference went, against the seconds since the phase that a curve is of began.
class InferenceHistory {
 public:
  /// Of a tier, or of an exit: what it answered.
  struct Answers {
    std::string name;
    TimeHistogram images;
    TimeHistogram open;    // tasks that were given out and had no answer; of tiers
    ThinnedCurve latency;  // seconds; of tiers
  };
  /// A part of the job that tells how far it is: "single", "pipeline".
  struct Phase {
    std::string name;
    ThinnedCurve images_per_s;
    double done = 0, seconds = 0;  // of the last line
  };
  /// A board of a stage of a pipeline.
  struct Stage {
    std::string name;
    ThinnedCurve utilisation;  // share of the time
    ThinnedCurve queue;        // micro-batches that wait
  };

  /// A line of metrics.jsonl, of any kind.
  void take(const nlohmann::json& line);

  const std::vector<Phase>& phases() const { return phases_; }
  const std::vector<Answers>& tiers() const { return tiers_; }
  const std::vector<Answers>& exits() const { return exits_; }
  const std::vector<Stage>& stages() const { return stages_; }
  const ThinnedCurve& latency() const { return latency_; }

 private:
  void take_progress(const job::Progress& progress);
  void take_tier(const infer::TierAnswersLine& line);
  void take_exit(std::int64_t exit, Seconds at);
  void take_stages(const infer::StageLoad& line);

  std::vector<Phase> phases_;
  std::vector<Answers> tiers_, exits_;
  std::vector<Stage> stages_;
  ThinnedCurve latency_;  // of micro-batches of a pipeline
};

}  // namespace mangrove::cli
