#include "mangrove/train/data_parallel/synchronous_server.h"

#include <algorithm>
#include <map>

namespace mangrove::train {

std::size_t SynchronousServer::workers_in_step(std::size_t workers) const {
  return quorum_ > 0 ? std::min(quorum_, workers) : workers;
}

std::int64_t SynchronousServer::samples_per_step(std::size_t workers) const {
  return static_cast<std::int64_t>(workers_in_step(workers) * batch());
}

/// One step. The server sends the values to P workers (n floats each) with up to `batch` samples each, and every worker
/// answers with the gradient of the sum of its losses (n floats). The server adds them up, divides by the number of
/// samples, and makes one update. So the server's link carries P n floats each way in a step: that is what bounds P.
///
/// It is right because the gradient of a sum is the sum of gradients: P workers with batch b compute what one computes
/// with batch P b. With a quorum (k_of_n), the update is made with the first k answers. The others' samples are given
/// out again later, so that each counts once; a slow worker costs its own time, not everyone's (Chen et al., 2016).
///
/// With a rule (see Aggregation) each worker has one vote, however many samples it has. If too few workers have
/// answered, the step is repeated with those that are left.
Status SynchronousServer::advance() {
  MG_RETURN_IF_ERROR(await_workers());
  const std::map<net::Rank, Work> works = assign(workers().ready(), batch());
  for (const auto& [rank, work] : works) workers().give_training(rank, work, global_model().values());
  const std::size_t wanted = quorum_ > 0 ? std::min(quorum_, works.size()) : works.size();
  std::map<net::Rank, WorkerRoster::Answered> by_rank;  // so that the sum does not depend on who was first
  while (workers().any_busy() && by_rank.size() < wanted) {
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (answered) by_rank.emplace(answered->rank, std::move(*answered));
  }
  std::vector<WorkerRoster::Answered> answers;
  for (auto& [rank, answered] : by_rank) answers.push_back(std::move(answered));
  MG_TRY(const bool is_update, are_enough(answers, works.size()));
  if (is_update) MG_RETURN_IF_ERROR(apply(answers));
  abandon_others();
  return {};
}

/// In reverse, so that their samples are in order again.
void SynchronousServer::abandon_others() {
  const net::RankSet ranks = workers().in_use();
  for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank) {
    if (!work().holds(*rank)) continue;
    workers().abandon(*rank);
    work().give_back(*rank);
  }
}

}  // namespace mangrove::train
