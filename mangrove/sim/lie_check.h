#pragma once

#include "mangrove/base/result.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/sim/world.h"

namespace mangrove::sim {

/// Whether devices of this world can lie in this job, if some are to (see Liar). errors: invalid_argument (a job
/// without training; a strategy that collects no vectors; a codec; modelled training, in which nothing is learnt).
Status check_lies(const World& world, const cluster::JobSpec& job, bool is_modelled);

}  // namespace mangrove::sim
