#include "mangrove/train/data_parallel/clipped_gradients.h"

#include <algorithm>
#include <utility>

#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

using Phase = StepTimer::Phase;

ClippedGradientsToServer::ClippedGradientsToServer(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs)
    : ServerExchange(trainee, std::move(codecs)), clip_(privacy_of(trainee.job())->clip) {}

Result<std::unique_ptr<Exchange>> ClippedGradientsToServer::create(Trainee& trainee, const Graph& graph) {
  MG_TRY(auto codecs, WorkerCodecs::create(trainee.job(), trainee.recipe(), graph, trainee.context()));
  return std::unique_ptr<Exchange>(new ClippedGradientsToServer(trainee, std::move(codecs)));
}

/// Nothing waits between the first use of the replica and the last, since others may use it meanwhile (see
/// ReplicaPool).
Status ClippedGradientsToServer::train(const Work& work, std::string_view body) {
  ReplicaPool& pool = trainee_.pool();
  StepTimer& timer = trainee_.timer();
  Source& source = pool.data().train();
  const Source::Samples all(work.samples().begin(), work.samples().end());
  timer.enter(Phase::load);
  MG_TRY(const bool are_there, source.wait_for(all, work.round(), trainee_.interruption()));
  if (!are_there) return {};
  timer.enter(Phase::compute);
  trainee_.context().device.charge(pool.training_flops(std::ssize(all)));
  MG_TRY(learn::Replica * replica, pool.training());
  read_values(body, pool.flat());
  replica->write_parameters(pool.flat_parameters());
  replica->seed(learn::step_seed(trainee_.job().seed(), work.version(), trainee_.context().endpoint.rank()));
  sum_.assign(pool.flat_parameters().size(), 0.0f);
  learn::BatchStats stats;
  last_told_ = trainee_.context().clock.now();
  const auto batch = static_cast<std::size_t>(trainee_.job().batch());
  const auto part = [&](std::size_t first) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return Source::Samples(begin, begin + static_cast<std::ptrdiff_t>(std::min(batch, all.size() - first)));
  };
  for (std::size_t first = 0; first < all.size(); first += batch) {
    timer.enter(Phase::load);
    MG_TRY(const data::Batch samples, source.take(part(first), work.epoch()));
    timer.enter(Phase::compute);
    const bool is_last = first + batch >= all.size();
    if (!is_last) MG_RETURN_IF_ERROR(source.prepare(part(first + batch), work.epoch()));
    stats += replica->add_clipped_gradients(samples, clip_, sum_);
    if (!is_last) tell_leader(work.round(), stats.count);
  }
  timer.enter(Phase::encode);
  std::ranges::copy(sum_, pool.flat_parameters().begin());
  answer_update(stats, work);
  return {};
}

/// Often enough not to be taken for silent.
void ClippedGradientsToServer::tell_leader(std::uint64_t round, std::int64_t done) {
  job::RoleContext& context = trainee_.context();
  const Instant now = context.clock.now();
  if (now - last_told_ < trainee_.job().step_timeout_s() / 3) return;
  last_told_ = now;
  Answer answer;
  answer.set_round(round);
  answer.set_done(done);
  context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
