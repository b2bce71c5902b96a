#pragma once

#include "mangrove/cluster/run_role.h"

namespace mangrove::cluster {

/// A job that does what its strategy's name says, to see the cluster at work without training anything:
///   "echo"       rank 0 asks every worker twice; result {"answers": P-1}
///   "endless"    rank 0 waits until it is stopped, then reports a checkpoint and is cancelled
///   "stubborn"   the same, but does not look at the stop token: only a cancelled endpoint ends it
///   "bad_data"   workers end with not_found; rank 0 waits until all are gone
///   "bad_node_1" only rank 1 does; rank 0 waits until it is gone, then echoes with the others
///   "await_loss" rank 0 waits until some rank is gone, then echoes with the others
///   "await_join" rank 0 waits until a rank joins the running job, then echoes with all
///   "resumable"  rank 0 reports a checkpoint, then as "endless"; resumed, it echoes
///   "resumable_alone"  the same, but until no worker is left
///   "rank_2_is_idle"  as "echo", and rank 0 says that rank 2 did nothing, and rank 1 something
///   "epochs"     rank 0 reports two epochs, the second one twice, and an event, and then does as "await_join"
///   "throws"     rank 0 throws
Status scripted_role(const JobSpec& job, job::RoleContext& context);

/// A job of this kind.
JobSpec scripted_job(const std::string& script, int nodes = 0, Seconds nodes_timeout = 5);

}  // namespace mangrove::cluster
