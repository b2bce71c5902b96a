#include "mangrove/infer/compile_options.h"

namespace mangrove::infer {

CompiledStageOptions compile_options(const InferJob& job, const job::RoleContext& context) {
  return {.micro_batch = job.micro_batch(),
          .backend = job.backend(),
          .threads = context.threads,
          .fuse = !job.unfused(),
          .timing_only = !context.device.computes()};
}

learn::ReplicaOptions whole_network(const CompiledStageOptions& options) {
  return {.batch = options.micro_batch,
          .mode = Mode::inference,
          .backend = options.backend,
          .threads = options.threads,
          .fuse = options.fuse,
          .timing_only = options.timing_only};
}

}  // namespace mangrove::infer
