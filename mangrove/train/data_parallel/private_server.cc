#include "mangrove/train/data_parallel/private_server.h"

#include <algorithm>

namespace mangrove::train {

PrivateServer::PrivateServer(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                             std::unique_ptr<GlobalModel> model)
    : Leader(job, context, recipe, std::move(model)), update_(global_model().values().size()) {}

std::int64_t PrivateServer::samples_per_step(std::size_t workers) const {
  return static_cast<std::int64_t>(workers * batch());
}

Leader::Draw PrivateServer::draw(const StepBasis& basis) const {
  const auto all = static_cast<double>(samples_per_epoch());
  const double expected = std::min(static_cast<double>(basis.samples_per_step), all);
  return {.rate = expected / all, .samples = expected};
}

SampleLedger::Samples PrivateServer::draw_samples(privacy::NoiseSource& noise) const {
  SampleLedger::Samples drawn;
  for (std::uint32_t sample = 0; sample < static_cast<std::uint32_t>(samples_per_epoch()); ++sample)
    if (noise.chance(budget().rate())) drawn.push_back(sample);
  return drawn;
}

Status PrivateServer::advance() {
  privacy::NoiseSource noise = noise_of_step(job(), context().device, step());
  deal_out(draw_samples(noise));
  std::vector<WorkerRoster::Answered> answers;
  while (work().pending_count() > 0 || workers().any_busy()) {
    const net::RankSet ready = workers().ready();
    if (work().pending_count() > 0 && !ready.empty()) {
      const std::size_t share = (work().pending_count() + ready.size() - 1) / ready.size();
      for (auto& [rank, work] : assign(ready, share)) workers().give_training(rank, work, global_model().values());
    }
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (answered) answers.push_back(std::move(*answered));
    // who was lost with more work has given back what it had answered, too
    std::erase_if(answers, [&](const WorkerRoster::Answered& a) { return !work().holds(a.rank); });
  }
  std::stable_sort(answers.begin(), answers.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  update_.begin();
  for (const WorkerRoster::Answered& answered : answers) update_.add(answered.body());
  const double expected = budget().rate() * static_cast<double>(samples_per_epoch());
  return apply(answers, update_.finish(budget().deviation(), expected, noise));
}

}  // namespace mangrove::train
