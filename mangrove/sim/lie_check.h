#pragma once

#include "mangrove/base/result.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/sim/world.h"

namespace mangrove::sim {

/// Checks that the lying devices of this world, if there are some (see Liar), can lie in this job.
/// errors: invalid_argument (the lies are about updates and the job does not train, or about answers and it does; its
/// strategy collects no vectors, or has several networks; values travel encoded or masked; computing is modelled, so
/// that nothing is learnt or answered).
Status check_lies(const World& world, const cluster::JobSpec& job, bool is_modelled);

}  // namespace mangrove::sim
