#pragma once

#include "mangrove/sim/simulation.h"

namespace mangrove::sim {

/// Plays the job on the devices of the world in virtual time: the very roles that real devices play, computing what
/// real ones compute, while time passes as the world says. The same job, world and options give the same log, bit for
/// bit.
/// errors: those of the job; deadline_exceeded (the limit); failed_precondition (this process has simulated before:
/// SimGrid can do so once). threads: one, once in a process.
Status simulate(const cluster::JobSpec& job, const World& world, SimulationOptions options);

}  // namespace mangrove::sim
