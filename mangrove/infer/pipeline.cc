#include "mangrove/infer/pipeline.h"

#include "mangrove/infer/leader.h"
#include "mangrove/infer/node.h"

namespace mangrove::infer {

Status run_pipeline(const InferJob& job, net::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_leader(job, context) : run_node(job, context);
}

}  // namespace mangrove::infer
