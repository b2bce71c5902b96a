#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/stream_part.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Ranks 1 .. P of the strategies with one network, or with several for the same samples; pipeline.h explains the
/// algorithm. make_part: of what streams through the nodes; by default stages of a pipeline. errors: unavailable (the
/// leader is gone), cancelled, and the error that kept the node from taking part.
Status run_node(const InferJob& job, job::RoleContext& context);
Status run_node(const InferJob& job, job::RoleContext& context, const MakeStreamPart& make_part);

}  // namespace mangrove::infer
