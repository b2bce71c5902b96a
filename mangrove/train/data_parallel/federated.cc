#include "mangrove/train/data_parallel/federated.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/data_parallel/private_averaging.h"
#include "mangrove/train/data_parallel/secure_key.h"
#include "mangrove/train/data_parallel/secure_sum.h"
#include "mangrove/train/data_parallel/shared_samples.h"
#include "mangrove/train/data_parallel/worker.h"
#include "mangrove/train/rows.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kClients = 0xfed;  // stream of random numbers: who takes part
constexpr int kMostFailures = 5;           // of secure sums in a row

class FederatedLeader final : public Leader {
 public:
  FederatedLeader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                  std::unique_ptr<GlobalModel> model, const Consistency& consistency)
      : Leader(job, context, recipe, std::move(model)),
        consistency_(consistency),
        owners_at_start_(static_cast<std::size_t>(context.endpoint.size()) - 1) {
    if (!job.secure_aggregation()) return;
    const std::size_t states = learn::flat_states(global_model().graph()).size();
    secure_sum_.emplace(SecureUpdate(global_model().values().size() - states, states,
                                     global_model().graph().outputs().size() - 1, shared_mask(job)),
                        workers(), reports());
  }

 private:
  Status advance() override;
  std::int64_t samples_per_step(std::size_t workers) const override {
    return static_cast<std::int64_t>(clients_of(workers) * batch());
  }
  std::int64_t samples_per_update(std::size_t workers) const override {
    const auto most = static_cast<std::int64_t>(std::min(goal(), clients_of(workers)) * share(workers));
    return std::min(most, samples_per_epoch());
  }
  std::size_t workers_in_step(std::size_t workers) const override {
    return root_of(std::min(goal(), clients_of(workers)));
  }
  /// With a rule, a worker that has answered waits for the update, so that no worker answers twice in a round.
  std::size_t vectors_in_update(std::size_t workers) const override {
    return std::min(goal(), is_synchronous() ? clients_of(workers) : workers);
  }
  std::int64_t epochs_at_once() const override { return std::max<std::int64_t>(1, job().local_epochs()); }
  float update_rate(float) const override { return job().outer_learning_rate(); }

  bool is_synchronous() const { return consistency_.kind == Consistency::Kind::sync; }
  bool is_dealt_out() const { return job().split().empty() || job().split() == "iid"; }
  std::size_t goal() const;
  std::size_t clients_of(std::size_t workers) const;
  std::size_t share(std::size_t workers) const;
  net::RankSet choose();
  bool is_in_buffer(net::Rank rank) const;
  bool somebody_is_far_behind();
  void start();
  void join_shared(net::Rank rank, Work& work) const;
  Status update();

  Status update_blind(std::vector<WorkerRoster::Answered> answers);
  Status give_up();
  void drop(const WorkerRoster::Dropped& dropped) override;

  const Consistency consistency_;
  const std::size_t owners_at_start_;
  std::optional<SharedSamples> shared_;             // where the job has some
  std::vector<WorkerRoster::Answered> buffer_;      // of the next update
  std::map<net::Rank, std::int64_t> started_with_;  // version of the values of a worker's last work
  std::set<net::Rank> asked_;                       // workers whose answers are for the next update
  std::optional<SecureSum> secure_sum_;             // where the job has secure_aggregation
  std::map<net::Rank, std::int64_t> counted_;       // the last step whose secure sum has the worker's update
};

/// Answers that make an update.
std::size_t FederatedLeader::goal() const {
  if (is_synchronous()) return std::numeric_limits<std::size_t>::max();
  return consistency_.kind == Consistency::Kind::k_of_n ? static_cast<std::size_t>(consistency_.bound) : 1;
}

/// The number of workers that take part in a round, among all workers.
std::size_t FederatedLeader::clients_of(std::size_t workers) const {
  const double wanted = std::round(job().client_fraction() * static_cast<double>(workers));
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, std::max<std::size_t>(1, workers));
}

/// Samples that a worker gets at once.
std::size_t FederatedLeader::share(std::size_t workers) const {
  if (job().local_epochs() == 0) return static_cast<std::size_t>(job().local_steps()) * batch();
  const auto all = static_cast<std::size_t>(samples_per_epoch());
  return is_dealt_out() ? (all + workers - 1) / workers : all;  // else all of its own
}

/// One round. The leader sends the values to the workers that take part (n floats each). Each makes some steps of its
/// own on its own samples, and sends back what they have changed (n floats). The values move by the mean of the
/// changes, weighted by samples. So a round of E steps sends 2n floats for each worker, where a server that gets every
/// gradient sends 2n E: the more local steps, the fewer bytes.
///
/// With one step each this is synchronous SGD. With more, workers drift apart between the averages, and the mean of
/// their values is no longer what one device would have come to; it works because averages of networks that began from
/// the same values stay good ones (McMahan et al., 2017), the less alike their samples are, the fewer steps. The mean
/// change may be treated as a gradient, with momentum over rounds (outer_momentum; Douillard et al., 2023). Where
/// nobody waits, a change that is s rounds late counts 1/(1+s), since it was made from older values (Nguyen et al.,
/// 2022).
///
/// With a rule (see Aggregation) each worker has one vote in a round, however many samples it has, and a late change is
/// shortened. If too few workers have answered, the round is repeated with those that are left.
Status FederatedLeader::advance() {
  MG_RETURN_IF_ERROR(await_workers());
  start();
  while (workers().any_busy() && buffer_.size() < goal()) {
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (answered) buffer_.push_back(std::move(*answered));
    // the samples of a worker that was lost are others' now, those of its answers too
    std::erase_if(buffer_, [&](const WorkerRoster::Answered& a) { return !work().holds(a.rank); });
    if (!is_synchronous() && buffer_.size() < goal()) start();
  }
  return buffer_.empty() ? Status() : update();
}

void FederatedLeader::join_shared(net::Rank rank, Work& work) const {
  const auto all = shared_->joined({work.samples().begin(), work.samples().end()}, step(), rank);
  work.mutable_samples()->Assign(all.begin(), all.end());
}

/// Gives work to those that begin now.
void FederatedLeader::start() {
  if (job().shared_samples() > 0 && !shared_)
    shared_.emplace(job().shared_samples(), samples_per_epoch(), owners_at_start_, job().seed());
  const net::RankSet ranks = choose();
  if (ranks.empty()) return;  // perhaps nobody is left
  const std::size_t all = workers().in_use().size();
  const bool is_everyone = is_synchronous() && clients_of(all) == all;
  for (auto& [rank, work] : assign(ranks, share(all))) {
    const auto own = static_cast<std::size_t>(work.samples_size());
    if (shared_) join_shared(rank, work);
    asked_.insert(rank);
    set_local_steps(work, std::min(own, share(all)));
    if (!is_everyone || shared_) work.clear_next_samples();  // who gets them, or what between, is not known yet
    started_with_[rank] = step();
    if (secure_sum_) {
      if (const auto last = counted_.find(rank); last != counted_.end()) work.set_counted(last->second);
      workers().give_kept_training(rank, work, global_model().values());
    } else {
      workers().give_training(rank, work, global_model().values());
    }
  }
}

/// Those that are ready, but no more at once than the fraction that takes part.
net::RankSet FederatedLeader::choose() {
  net::RankSet ranks = workers().ready();
  const std::size_t all = workers().in_use().size(), busy = all - ranks.size(), most = clients_of(all);
  std::erase_if(ranks,
                [&](net::Rank rank) { return !work().has_for(rank) || (least_vectors() > 1 && is_in_buffer(rank)); });
  if (busy >= most || somebody_is_far_behind()) return {};
  if (ranks.size() <= most - busy) return ranks;
  Random random = Random(job().seed()).fork(kClients).fork(static_cast<std::uint64_t>(step()));
  random.shuffle(std::span(ranks));
  ranks.resize(most - busy);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

bool FederatedLeader::is_in_buffer(net::Rank rank) const {
  return std::ranges::any_of(buffer_, [&](const WorkerRoster::Answered& answered) { return answered.rank == rank; });
}

bool FederatedLeader::somebody_is_far_behind() {
  if (consistency_.kind != Consistency::Kind::stale) return false;
  const net::RankSet ranks = workers().in_use(), ready = workers().ready();
  return std::any_of(ranks.begin(), ranks.end(), [&](net::Rank rank) {
    const bool busy = !std::binary_search(ready.begin(), ready.end(), rank);
    return busy && step() - started_with_.at(rank) >= consistency_.bound;
  });
}

/// An outer step with the answers in the buffer, in the order of the ranks, so that it does not depend on who was
/// first.
Status FederatedLeader::update() {
  std::vector<WorkerRoster::Answered> answers = std::exchange(buffer_, {});
  std::stable_sort(answers.begin(), answers.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  const std::size_t asked = asked_.size();
  const net::RankSet in_use = workers().in_use(), ready = workers().ready();
  asked_.clear();
  std::set_difference(in_use.begin(), in_use.end(), ready.begin(), ready.end(), std::inserter(asked_, asked_.end()));
  MG_TRY(const bool is_update, are_enough(answers, asked));
  if (!is_update) return {};
  if (secure_sum_) return update_blind(std::move(answers));
  std::vector<GlobalModel::Part> parts;
  for (const WorkerRoster::Answered& answered : answers) {
    const std::int64_t staleness = step() - answered.version;
    if (!is_synchronous()) reports().staleness(staleness);
    const float weight = 1 / static_cast<float>(1 + staleness);
    parts.push_back({answered.body(), answered.answer.count(), weight});
  }
  return apply(answers, parts, 1);
}

/// An outer step with the sum of the updates that these workers keep. What one of them answers about its results counts
/// nothing: the first of the answers has the sums. Where the sum is not made, nor of all of them, the rest is done
/// anew.
Status FederatedLeader::update_blind(std::vector<WorkerRoster::Answered> answers) {
  for (const WorkerRoster::Answered& answered : answers)
    if (!std::isfinite(answered.answer.loss())) return count_in(std::span(&answered, 1));  // it is no number
  std::vector<SecureSum::Term> terms;
  for (const WorkerRoster::Answered& answered : answers) {
    const std::int64_t staleness = step() - answered.version;
    if (!is_synchronous()) reports().staleness(staleness);
    terms.push_back({answered.rank, answered.answer.count(), 1 / static_cast<double>(1 + staleness)});
  }
  MG_TRY(const std::optional<SecureSum::Outcome> sum,
         secure_sum_->sum(
             terms, step(), [&] { return next_answer(); },
             [&](WorkerRoster::Answered other) { buffer_.push_back(std::move(other)); }));
  const auto is_in_sum = [&](const WorkerRoster::Answered& answered) {
    return sum && std::ranges::binary_search(sum->ranks, answered.rank);
  };
  for (auto answered = answers.rbegin(); answered != answers.rend(); ++answered)
    if (!is_in_sum(*answered) && work().holds(answered->rank)) work().give_back(answered->rank);
  if (!sum) return secure_sum_->failures() < kMostFailures ? Status() : give_up();
  for (const net::Rank rank : sum->ranks) counted_[rank] = step();
  std::erase_if(answers, [&](const WorkerRoster::Answered& answered) { return !is_in_sum(answered); });
  Answer& first = answers.front().answer;
  first.set_loss(sum->total.stats.loss);
  first.set_correct(sum->total.stats.correct);
  first.mutable_early_correct()->Assign(sum->total.stats.early_correct.begin(), sum->total.stats.early_correct.end());
  const GlobalModel::Part part{sum->total.body, sum->total.stats.count};
  return apply(answers, std::span(&part, 1), 1);
}

/// A worker that trains, and takes no part in sums, would keep the job at one step for ever.
Status FederatedLeader::give_up() {
  MG_RETURN_IF_ERROR(save_checkpoint());
  return make_error(Code::failed_precondition,
                    "secure_aggregation: " + std::to_string(kMostFailures) +
                        " sums in a row came to nothing; a checkpoint was saved: resume it with more nodes");
}

/// Of a worker whose vector is in a sum already, the samples are not lost.
void FederatedLeader::drop(const WorkerRoster::Dropped& dropped) {
  if (secure_sum_) secure_sum_->lose(dropped.rank);
  if (!secure_sum_ || !secure_sum_->has_vector_of(dropped.rank)) Leader::drop(dropped);
}

learn::OptimizerOptions outer_optimizer(const TrainJob& job) {
  return {.name = job.outer_momentum() > 0 ? "nesterov" : "sgd", .momentum = job.outer_momentum()};
}

Status run_federated_leader(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(const Consistency consistency, parse_consistency(job.consistency()));
  MG_RETURN_IF_ERROR(check_enough_nodes(consistency, job.consistency(), context.endpoint.size() - 1));
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  Hyperparameters outer = recipe;
  outer.optimizer = outer_optimizer(job);
  MG_RETURN_IF_ERROR(check_private_network(job, graph));
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), outer));
  if (privacy_of(job)) return PrivateAveraging(job, context, recipe, std::move(model)).run();
  return FederatedLeader(job, context, recipe, std::move(model), consistency).run();
}

}  // namespace

Status run_federated(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_federated_leader(job, context) : run_worker(job, context);
}

Strategy rows::federated() {
  return {{.name = "federated",
           .summary = "workers make steps of their own between averages: see local_steps, local_epochs (McMahan et "
                      "al., Communication-efficient learning of deep networks from decentralized data, AISTATS 2017)",
           .on_loss = "a worker's unfinished samples go to the others; training ends only when no worker is left"},
          {.has_server = true,
           .collects_vectors = true,
           .steps_locally = true,
           .has_own_data = true,
           .takes_shared_samples = true,
           .vectors_held = 7},
          &run_federated};
}

}  // namespace mangrove::train
