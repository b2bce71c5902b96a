#include "mangrove/train/pipeline/pipeline.h"

#include <string_view>

#include "mangrove/train/pipeline/leader.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/pipeline/stage_worker.h"
#include "mangrove/train/rows.h"

namespace mangrove::train {
namespace {

constexpr std::string_view kOnStageLoss =
    "training goes on from the last version that the leader has of all stages, with a spare node or fewer stages";

}  // namespace

Status run_pipeline(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? lead_pipeline(job, context) : run_stage_worker(job, context);
}

Strategy rows::gpipe() {
  return {{.name = "gpipe",
           .summary = "each worker has a stage of the network; all micro-batches of a batch go forward, then all come "
                      "back: see stages, micro_batches, cut, recompute (Huang et al., GPipe, NeurIPS 2019)",
           .on_loss = kOnStageLoss},
          {.pipeline = &kGpipe},
          &run_pipeline};
}

Strategy rows::one_f_one_b() {
  return {{.name = "one_f_one_b",
           .summary = "gpipe with a forward and a backward pass in turn, which holds fewer activations (Narayanan et "
                      "al., Memory-efficient pipeline-parallel DNN training, ICML 2021)",
           .on_loss = kOnStageLoss},
          {.keys_of = "gpipe", .pipeline = &kOneFOneB},
          &run_pipeline};
}

Strategy rows::pipedream() {
  return {{.name = "pipedream",
           .summary = "batches follow each other through the stages without a pause; each stage keeps older "
                      "parameters for those under way (Narayanan et al., PipeDream, SOSP 2019)",
           .on_loss = kOnStageLoss},
          {.keys_of = "gpipe", .pipeline = &kPipeDream},
          &run_pipeline};
}

}  // namespace mangrove::train
