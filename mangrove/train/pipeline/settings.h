#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/pipeline/stage.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Checks the keys of a job that is a pipeline: its own keys, and that the job sets no key that only makes sense for
/// workers with the whole network. errors: invalid_argument, which names the key and the allowed values.
Status check_pipeline(const TrainJob& job, const Hyperparameters& recipe);

/// Where the network is cut into stages.
struct CutRule {
  enum class Kind {
    measured,  // the planner cuts by the times that each node measures
    flops,     // the planner cuts by computed times, which are the same in every run
    behind,    // the network is cut behind `nodes`
  };
  Kind kind = Kind::measured;
  std::vector<std::string> nodes = {};
};
/// Reads "measured" (also ""), "flops" or "behind(A,B,...)". errors: invalid_argument (another text).
Result<CutRule> parse_cut(const std::string& text);

/// Reads "auto" (also ""), "always" or "never". errors: invalid_argument (another text).
Result<Stage::Recompute> parse_recompute(const std::string& text);

/// The samples of a micro-batch for this number of stages: `batch` divided into `micro_batches` parts. If the job does
/// not say how many, there are four parts for each stage (source: Huang et al., GPipe, NeurIPS 2019, who find that the
/// idle time then hardly counts). Where stages keep older parameters, a micro-batch is the whole batch.
std::int64_t pipeline_micro_batch(const TrainJob& job, std::size_t stages);

}  // namespace mangrove::train
