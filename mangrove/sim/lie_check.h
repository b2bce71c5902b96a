#pragma once

#include "mangrove/base/result.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/sim/world.h"

namespace mangrove::sim {

/// Checks that the lying devices of this world, if there are some (see Liar), can lie in this job.
/// errors: invalid_argument (the job does not train, its strategy collects no vectors, it has a codec or masked
/// updates, or training is modelled, so that nothing is learnt).
Status check_lies(const World& world, const cluster::JobSpec& job, bool is_modelled);

}  // namespace mangrove::sim
