#pragma once

#include "mangrove/engine/program.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/sample_feed.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {

/// The times of this node for one micro-batch of a job: of each operator of the unsplit network, and of reading the
/// samples. Times that were kept from an earlier job are used (see plan::ProfileCache; times of reading only for the
/// same data). Otherwise, or if the job asks for it, they are measured now and kept. `process` is always the present
/// figure.
///
/// Times are medians of the computing time of one thread, stretched as a CPU quota stretches it. So neither the pauses
/// of a quota nor other programs shift operators relative to each other. On a simulated device the times come from its
/// own clock, and nothing is kept. replica: a replica of the network. errors: those of Dataset::read.
Result<Profile> profile_node(const InferJob& job, const job::RoleContext& context, learn::Replica& replica,
                             const SampleSource& source);

/// Does the same on a node that has not the memory for the whole network: piece by piece, with any weights and samples,
/// which take the same time. program: of the whole network, which is not executed. errors: those of profile_node,
/// Graph::slice, Program::compile and Execution::create.
Result<Profile> profile_pieces(const InferJob& job, const job::RoleContext& context, const Program& program,
                               const SampleSource& source);

}  // namespace mangrove::infer
