#include "mangrove/train/pipeline/pipeline.h"

#include "mangrove/train/pipeline/leader.h"
#include "mangrove/train/pipeline/stage_worker.h"

namespace mangrove::train {

Status run_pipeline(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? lead_pipeline(job, context) : run_stage_worker(job, context);
}

}  // namespace mangrove::train
