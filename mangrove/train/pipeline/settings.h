#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/pipeline/stage.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// That a job that is a pipeline asks for nothing that goes by whole networks on workers, and its own keys. errors:
/// invalid_argument: names the key and what is allowed.
Status check_pipeline(const TrainJob& job, const Hyperparameters& recipe);

/// Where the network is cut into stages.
struct CutRule {
  enum class Kind {
    measured,  // where the planner says, by what each node measures
    flops,     // the same by computed times: equal on every run
    behind,    // behind these nodes
  };
  Kind kind = Kind::measured;
  std::vector<std::string> nodes = {};
};
/// "measured" (also ""), "flops", "behind(A,B,...)". errors: invalid_argument (another text).
Result<CutRule> parse_cut(const std::string& text);

/// "auto" (also ""), "always", "never". errors: invalid_argument (another text).
Result<Stage::Recompute> parse_recompute(const std::string& text);

/// Samples of a micro-batch, where there are so many stages: `batch` in `micro_batches` parts, of which there are four
/// for each stage where the job does not say (source: Huang et al., GPipe, NeurIPS 2019: then bubbles hardly count);
/// the whole of it where stages keep older parameters.
std::int64_t pipeline_micro_batch(const TrainJob& job, std::size_t stages);

}  // namespace mangrove::train
