#include "mangrove/train/pipeline/one_f_one_b.h"

#include "mangrove/train/pipeline/leader.h"
#include "mangrove/train/pipeline/stage_worker.h"

namespace mangrove::train {

Status run_one_f_one_b(const TrainJob& job, net::RoleContext& context) {
  const Schedule schedule = one_f_one_b_schedule;
  return context.endpoint.rank() == 0 ? lead_pipeline(job, context, schedule)
                                      : run_stage_worker(job, context, schedule);
}

}  // namespace mangrove::train
