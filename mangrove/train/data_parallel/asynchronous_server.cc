#include "mangrove/train/data_parallel/asynchronous_server.h"

#include <algorithm>

#include "mangrove/train/compression/uplink_codec.h"

namespace mangrove::train {

Result<std::unique_ptr<AsynchronousServer>> AsynchronousServer::create(const TrainJob& job, job::RoleContext& context,
                                                                       Graph graph, const Hyperparameters& recipe,
                                                                       std::int64_t bound) {
  Hyperparameters server_recipe = recipe;
  server_recipe.optimizer = without_momentum(recipe.optimizer);
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), server_recipe));
  return std::unique_ptr<AsynchronousServer>(new AsynchronousServer(job, context, recipe, std::move(model), bound));
}

AsynchronousServer::AsynchronousServer(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                                       std::unique_ptr<GlobalModel> model, std::int64_t bound)
    : Leader(job, context, recipe, std::move(model)),
      bound_(bound),
      momentum_(uplink_has_momentum(job, recipe) ? 0 : shared_momentum(recipe.optimizer),
                static_cast<std::size_t>(Leader::global_model().graph().parameter_elements())) {}

/// One update. Each worker has values, computes a gradient on its own batch, and sends it (n floats); the server makes
/// an update with it at once, and sends the new values back (n floats). Nobody waits for anybody: P workers keep the
/// server busy at their own speeds (Dean et al., 2012).
///
/// The price is staleness. While a worker computed, others have changed the values s times, so its gradient belongs to
/// values that are s updates old. Its learning rate is divided by 1 + s (Zhang et al., 2016): P equal workers have
/// s = P - 1, so that P updates together move the values as far as one synchronous step would. Momentum is kept for
/// each worker: one for all would add up gradients of different values. With a bound (stale(S)), a worker that is S
/// updates ahead of the slowest waits for it, so that no gradient is older than that allows (Ho et al., 2013).
Status AsynchronousServer::advance() {
  count_newcomers();
  for (const net::Rank rank : workers().ready()) {
    // what was reserved for a worker that has to wait is for those that it waits for, or are left if it is lost
    if (!may_go_on(rank) && work().holds(rank)) work().give_back(rank);
  }
  for (const net::Rank rank : workers().ready()) {
    if (may_go_on(rank)) start(rank);
  }
  MG_TRY(const std::optional<WorkerRoster::Answered> answered, next_answer());
  if (!answered) return {};
  const net::Rank rank = answered->rank;
  const std::int64_t staleness = step() - answered->version, samples = answered->answer.count();
  reports().staleness(staleness);
  ++updates_[rank];
  const std::string update = momentum_.accelerate(rank, answered->body(), samples);
  const GlobalModel::Part part{update, samples};
  return apply(std::span(&*answered, 1), std::span(&part, 1), 1 / static_cast<float>(1 + staleness));
}

/// A worker that comes in, or back, has as many updates as the slowest: nobody waits for what it has missed.
void AsynchronousServer::count_newcomers() {
  const net::RankSet ranks = workers().in_use();
  std::erase_if(updates_, [&](const auto& entry) {
    const bool gone = std::find(ranks.begin(), ranks.end(), entry.first) == ranks.end();
    if (gone) momentum_.forget(entry.first);
    return gone;
  });
  const std::int64_t least = slowest();
  for (const net::Rank rank : ranks) updates_.emplace(rank, least);
}

std::int64_t AsynchronousServer::slowest() const {
  const auto least = std::min_element(updates_.begin(), updates_.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  return least == updates_.end() ? 0 : least->second;
}

bool AsynchronousServer::may_go_on(net::Rank rank) const {
  return bound_ == 0 || updates_.at(rank) - slowest() < bound_;
}

/// Gives a worker its samples, and reserves those that come after, so that it can load them meanwhile. Towards the end
/// of an epoch nothing is reserved: others may be free sooner.
void AsynchronousServer::start(net::Rank rank) {
  if (!work().holds(rank)) work().assign({{rank, batch()}});
  if (!work().holds(rank)) return;
  if (work().pending_count() >= batch() * workers().in_use().size()) work().assign({{rank, batch()}});
  const auto parts = work().parts(rank);
  const SampleLedger::Samples next = parts.size() > 1 ? parts[1] : SampleLedger::Samples();
  workers().give_training(rank, training(parts[0], next, /*next_epoch=*/false), global_model().values());
}

}  // namespace mangrove::train
