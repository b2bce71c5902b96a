#include "mangrove/train/pipeline/pipedream.h"

#include "mangrove/train/pipeline/leader.h"
#include "mangrove/train/pipeline/stage_worker.h"

namespace mangrove::train {

Status run_pipedream(const TrainJob& job, net::RoleContext& context) {
  const Schedule schedule = pipedream_schedule;
  return context.endpoint.rank() == 0 ? lead_pipeline(job, context, schedule)
                                      : run_stage_worker(job, context, schedule);
}

}  // namespace mangrove::train
