#include "mangrove/train/parameter_server.h"

#include "mangrove/train/server.h"
#include "mangrove/train/worker.h"

namespace mangrove::train {

Status run_parameter_server(const TrainJob& job, net::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_server(job, context) : run_worker(job, context);
}

}  // namespace mangrove::train
