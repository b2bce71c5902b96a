#include "mangrove/train/data_parallel/private_averaging.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kOwnSamples = 0x0511;  // stream of random numbers: which of its own a worker learns from

}  // namespace

PrivateAveraging::PrivateAveraging(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                                   std::unique_ptr<GlobalModel> model)
    : Leader(job, context, recipe, std::move(model)),
      owners_(static_cast<std::size_t>(context.endpoint.size()) - 1),
      update_(global_model().values().size()) {}

/// Workers in a round.
double PrivateAveraging::expected() const {
  return static_cast<double>(job().client_fraction()) * static_cast<double>(owners_);
}

/// By the workers that own samples, not by those that are there: a round costs the same privacy, and is as large.
std::int64_t PrivateAveraging::samples_per_step(std::size_t) const {
  return std::max<std::int64_t>(1, std::llround(expected() * static_cast<double>(batch())));
}

std::int64_t PrivateAveraging::epochs_at_once() const {
  return std::max<std::int64_t>(1, job().local_epochs());
}

std::size_t PrivateAveraging::workers_in_step(std::size_t) const {
  return root_of(std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(expected()))));
}

/// Samples that a worker gets at once, if it has as many.
std::size_t PrivateAveraging::share() const {
  return job().local_epochs() == 0 ? static_cast<std::size_t>(job().local_steps()) * batch()
                                   : static_cast<std::size_t>(samples_per_epoch());
}

Leader::Draw PrivateAveraging::draw(const StepBasis&) const {
  const auto all = static_cast<double>(samples_per_epoch());
  const double of_worker = std::min(static_cast<double>(share()), all / static_cast<double>(owners_));
  return {.rate = job().client_fraction(), .samples = expected() * of_worker};
}

net::RankSet PrivateAveraging::draw_workers(privacy::NoiseSource& noise) const {
  net::RankSet drawn;
  for (net::Rank rank = 1; rank <= static_cast<net::Rank>(owners_); ++rank)
    if (noise.chance(budget().rate())) drawn.push_back(rank);
  return drawn;
}

/// Each worker's own, as many as it gets at once.
SampleLedger::Samples PrivateAveraging::samples_of(const net::RankSet& ranks) const {
  const std::span<const net::Rank> owners = owners_of_samples();
  std::map<net::Rank, Samples> own;
  for (std::uint32_t sample = 0; sample < owners.size(); ++sample)
    if (std::ranges::binary_search(ranks, owners[sample])) own[owners[sample]].push_back(sample);
  const Random round = Random(job().seed()).fork(kOwnSamples).fork(static_cast<std::uint64_t>(step()));
  Samples all;
  for (auto& [rank, samples] : own) {
    Random random = round.fork(static_cast<std::uint64_t>(rank));
    random.shuffle(std::span(samples));
    samples.resize(std::min(samples.size(), share()));
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

/// Nobody else gets its samples.
void PrivateAveraging::drop(const WorkerRoster::Dropped& dropped) {
  if (work().holds(dropped.rank)) work().give_back(dropped.rank);
}

Status PrivateAveraging::advance() {
  MG_RETURN_IF_ERROR(await_workers());
  privacy::NoiseSource noise = noise_of_step(job(), context().device, step());
  const net::RankSet drawn = draw_workers(noise), ready = workers().ready();
  net::RankSet there;
  std::ranges::set_intersection(drawn, ready, std::back_inserter(there));
  deal_out(samples_of(there));
  for (auto& [rank, work] : assign(there, share())) {
    set_local_steps(work, std::min(share(), static_cast<std::size_t>(work.samples_size())));
    workers().give_training(rank, work, global_model().values());
  }
  std::map<net::Rank, WorkerRoster::Answered> by_rank;
  while (workers().any_busy()) {
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (answered) by_rank.emplace(answered->rank, std::move(*answered));
  }
  std::vector<WorkerRoster::Answered> answers;
  for (auto& [rank, answered] : by_rank) answers.push_back(std::move(answered));
  update_.begin();
  for (const WorkerRoster::Answered& answered : answers)  // a change comes times its samples
    update_.add_clipped(answered.body(), 1 / static_cast<double>(answered.answer.count()), budget().options().clip);
  return apply(answers, update_.finish(budget().deviation(), expected(), noise));
}

}  // namespace mangrove::train
