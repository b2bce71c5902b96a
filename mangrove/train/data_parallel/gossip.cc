#include "mangrove/train/data_parallel/gossip.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "mangrove/graph/onnx.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/neighbours.h"
#include "mangrove/train/data_parallel/worker.h"
#include "mangrove/train/rows.h"

namespace mangrove::train {
namespace {

class GossipLeader final : public Leader {
 public:
  GossipLeader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
               std::unique_ptr<GlobalModel> model, Neighbours neighbours)
      : Leader(job, context, recipe, std::move(model)), neighbours_(std::move(neighbours)) {}

 private:
  Status advance() override;
  Status collect() override;
  Status collect_median(const std::map<net::Rank, WorkerRoster::Answered>& by_rank);
  std::int64_t samples_per_step(std::size_t workers) const override {
    return static_cast<std::int64_t>(workers * batch());
  }
  std::int64_t samples_per_update(std::size_t workers) const override {
    return samples_per_step(workers) * job().local_steps();
  }
  std::size_t workers_in_step(std::size_t workers) const override { return root_of(workers); }
  Status welcome();
  void start();
  Result<std::map<net::Rank, WorkerRoster::Answered>> answers();

  const Neighbours neighbours_;
  std::uint64_t averagings_ = 0;    // so far
  std::set<net::Rank> group_;       // of the round
  std::set<net::Rank> has_values_;  // workers that can go on from their own
  std::int64_t collected_ = 0;      // step at which the global model had their mean
};

Status GossipLeader::advance() {
  MG_RETURN_IF_ERROR(await_workers());
  MG_RETURN_IF_ERROR(welcome());
  start();
  MG_TRY(const auto by_rank, answers());
  std::vector<WorkerRoster::Answered> answered;
  for (const net::Rank rank : group_) {
    const auto found = by_rank.find(rank);
    if (found == by_rank.end()) {
      has_values_.erase(rank);  // who knows how far it came
    } else {
      has_values_.insert(rank);
      answered.push_back(found->second);
    }
  }
  return answered.empty() ? Status() : count_in(answered);
}

/// Who comes in, or back, begins with the mean of the others.
Status GossipLeader::welcome() {
  const net::RankSet ready = workers().ready();
  const auto has_values = [&](net::Rank rank) { return has_values_.contains(rank); };
  return std::all_of(ready.begin(), ready.end(), has_values) ? Status() : collect();
}

void GossipLeader::start() {
  const std::size_t share = static_cast<std::size_t>(job().local_steps()) * batch();
  auto works = assign(workers().ready(), share);
  group_.clear();
  for (const auto& [rank, work] : works) group_.insert(rank);
  const Adjacency links = adjacency(neighbours_, net::RankSet(group_.begin(), group_.end()),
                                    static_cast<std::size_t>(context().endpoint.size()) - 1, job().seed(), step());
  ++averagings_;
  std::string values;  // for those who need them
  net::append_floats(values, global_model().values());
  for (auto& [rank, work] : works) {
    set_local_steps(work, share);
    Averaging& averaging = *work.mutable_averaging();
    averaging.set_id(averagings_);
    if (const auto own = links.find(rank); own != links.end()) {
      for (const net::Rank neighbour : own->second) {
        averaging.add_ranks(neighbour);
        averaging.add_weights(metropolis_weight(links, rank, neighbour));
      }
    }
    workers().give(rank, work, has_values_.contains(rank) ? std::string_view() : std::string_view(values), 0);
  }
}

/// Of all that are at work. When the job is asked to stop, that is after the round: until then nobody knows whose
/// values have which samples in them.
Result<std::map<net::Rank, WorkerRoster::Answered>> GossipLeader::answers() {
  std::map<net::Rank, WorkerRoster::Answered> by_rank;
  while (workers().any_busy()) {
    MG_TRY(std::optional<WorkerRoster::Answered> answered, take_news());
    if (answered) by_rank.emplace(answered->rank, std::move(*answered));
  }
  return by_rank;
}

/// The mean of all workers' values, added in the order of the ranks. If nobody answers, the last mean stays. With a
/// rule it is the median of each element instead, since among all workers more may lie than among one worker's
/// neighbours.
Status GossipLeader::collect() {
  if (collected_ == step()) return {};
  for (const net::Rank rank : workers().ready()) {
    Work work;
    work.set_kind(Work::COLLECT);
    if (has_values_.contains(rank)) workers().give(rank, work, std::string_view(), global_model().values().size());
  }
  MG_TRY(const auto by_rank, answers());
  if (by_rank.empty()) return {};
  if (rule() != nullptr) return collect_median(by_rank);
  std::vector<float> mean(global_model().values().size()), values(mean.size());
  const float share = 1 / static_cast<float>(by_rank.size());
  for (const auto& [rank, answered] : by_rank) {
    MG_RETURN_IF_ERROR(net::read_floats(answered.body(), values));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * values[i];
  }
  global_model().set_values(mean);
  collected_ = step();
  return {};
}

Status GossipLeader::collect_median(const std::map<net::Rank, WorkerRoster::Answered>& by_rank) {
  Vectors vectors(global_model().values().size());
  for (const auto& [rank, answered] : by_rank) vectors.add(answered.body());
  std::vector<float> median(vectors.elements());
  MG_RETURN_IF_ERROR(aggregate_states(vectors, median).context("aggregate"));
  global_model().set_values(median);
  collected_ = step();
  return {};
}

/// Checks that each worker has enough vectors for the rule: its own values and those of its neighbours.
Status check_neighbours(const TrainJob& job, const Neighbours& neighbours, std::size_t workers) {
  const std::unique_ptr<Aggregation> rule = rule_of(job);
  if (rule == nullptr) return {};
  net::RankSet ranks(workers);
  std::iota(ranks.begin(), ranks.end(), 1);
  const Adjacency links = adjacency(neighbours, ranks, workers, job.seed(), 0);
  for (const net::Rank rank : ranks) {
    const auto own = links.find(rank);
    const std::size_t vectors = 1 + (own == links.end() ? 0 : own->second.size());
    MG_RETURN_IF_ERROR(check_enough_vectors(job, *rule, vectors,
                                            "with neighbours '" + job.neighbours() + "' worker " +
                                                std::to_string(rank - 1) + " has those of " + std::to_string(vectors) +
                                                ", its own among them; use graph(A-B,...) with more neighbours"));
  }
  return {};
}

Status run_gossip_leader(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(Neighbours neighbours, parse_neighbours(job.neighbours()));
  const auto nodes = static_cast<std::size_t>(context.endpoint.size()) - 1;
  MG_RETURN_IF_ERROR(check_workers(neighbours, job.neighbours(), nodes));
  MG_RETURN_IF_ERROR(check_neighbours(job, neighbours, nodes));
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  if (recipe.ema_decay > 0)
    return make_error(Code::invalid_argument, "ema_decay: with strategy 'gossip' nobody has all updates to average");
  Hyperparameters server_recipe = recipe;
  server_recipe.optimizer = {.name = "sgd"};  // makes no updates: the workers do
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), server_recipe));
  return GossipLeader(job, context, recipe, std::move(model), std::move(neighbours)).run();
}

}  // namespace

Status run_gossip(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_gossip_leader(job, context) : run_worker(job, context);
}

Strategy rows::gossip() {
  return {{.name = "gossip",
           .summary = "workers make steps of their own and average with neighbours: see neighbours, local_steps (Lian "
                      "et al., Can decentralized algorithms outperform centralized algorithms?, NIPS 2017)",
           .on_loss = "the others average without it; its unfinished samples go to them; training ends only when no "
                      "worker is left"},
          {.collects_vectors = true,
           .steps_locally = true,
           .averages_with_neighbours = true,
           .has_own_data = true,
           .vectors_held = 13},
          &run_gossip};
}

}  // namespace mangrove::train
