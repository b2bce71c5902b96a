#include "mangrove/train/data_parallel/local_steps.h"

#include <algorithm>

#include "mangrove/data/loader.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/strategy_row.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

/// Of one pass.
std::size_t steps_of(std::size_t samples, std::size_t batch) {
  return (samples + batch - 1) / batch;
}

}  // namespace

LocalSteps::LocalSteps(const learn::OptimizerOptions& optimizer, const TrainJob& job, job::RoleContext& context,
                       std::optional<net::Message>& interruption)
    : optimizer_options_(optimizer), job_(job), context_(context), interruption_(interruption) {}

bool LocalSteps::accepts(const Work& work) const {
  const auto steps = steps_of(static_cast<std::size_t>(work.samples_size()), static_cast<std::size_t>(job_.batch()));
  return work.passes() >= 1 && work.passes() <= job_.epochs() &&
         static_cast<std::size_t>(work.learning_rates_size()) == steps * static_cast<std::size_t>(work.passes());
}

std::vector<LocalSteps::Batch> LocalSteps::batches(const Work& work) const {
  const auto count = static_cast<std::uint32_t>(work.samples_size());
  const auto batch = static_cast<std::uint32_t>(job_.batch());
  std::vector<Batch> all;
  for (std::int64_t pass = 0; pass < work.passes(); ++pass) {
    Source::Samples samples(work.samples().begin(), work.samples().end());
    const std::int64_t epoch = work.epoch() + pass;
    if (pass > 0) {
      const auto order = data::epoch_order(count, job_.seed(), static_cast<std::uint64_t>(epoch));
      std::transform(order.begin(), order.end(), samples.begin(),
                     [&](std::uint32_t i) { return work.samples(static_cast<int>(i)); });
    }
    for (std::uint32_t first = 0; first < count; first += batch) {
      all.push_back({{samples.begin() + first, samples.begin() + std::min(count, first + batch)}, epoch});
    }
  }
  return all;
}

Result<std::optional<learn::BatchStats>> LocalSteps::run(const Work& work, ReplicaPool& bench, StepTimer& timer) {
  const struct Turns {
    ReplicaPool& bench;
    const LocalSteps& steps;
    ~Turns() { bench.forget(steps); }
  } turns{bench, *this};
  laid_aside_.clear();
  return make_steps(work, bench, timer);
}

Result<std::optional<learn::BatchStats>> LocalSteps::make_steps(const Work& work, ReplicaPool& bench,
                                                                StepTimer& timer) {
  const std::vector<Batch> all = batches(work);
  Source& source = bench.data().train();
  const Source::Samples next(work.next_samples().begin(), work.next_samples().end());
  learn::BatchStats stats;
  last_told_ = context_.clock.now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    timer.enter(StepTimer::Phase::load);
    MG_TRY(const bool are_there, source.wait_for(all[i].samples, work.round(), interruption_));
    if (!are_there) return std::optional<learn::BatchStats>();
    MG_TRY(const data::Batch batch, source.take(all[i].samples, all[i].epoch));
    timer.enter(StepTimer::Phase::compute);
    if (i + 1 < all.size()) {
      MG_RETURN_IF_ERROR(source.prepare(all[i + 1].samples, all[i + 1].epoch));
    } else if (source.has(next) && static_cast<std::int64_t>(next.size()) <= job_.batch()) {
      MG_RETURN_IF_ERROR(source.prepare(next, work.next_epoch()));
    }
    context_.device.charge(bench.training_flops(batch.count));
    MG_TRY(learn::Replica * replica, bench.training(this));
    const auto stream = static_cast<std::uint64_t>(i);
    replica->seed(learn::step_seed(job_.seed() + stream, work.version(), context_.endpoint.rank()));
    stats += replica->compute_gradients(batch, 1.0f / static_cast<float>(batch.count));
    optimizer_->step(work.learning_rates(static_cast<int>(i)), ++steps_, context_.threads);
    if (i + 1 == all.size()) {
      read(*replica, values_);
      break;
    }
    MG_TRY(const bool interrupted, is_interrupted());
    if (interrupted) return std::optional<learn::BatchStats>();
    tell_leader(work.round(), stats.count);
  }
  return std::optional(stats);
}

void LocalSteps::read(learn::Replica& replica, std::vector<float>& values) {
  const auto parameters = static_cast<std::size_t>(replica.parameter_elements());
  values.resize(parameters + static_cast<std::size_t>(replica.state_elements()));
  replica.read_parameters(std::span(values).first(parameters));
  replica.read_states(std::span(values).subspan(parameters));
}

/// Where it goes on from its own values, those of the last work stay until this one is done.
void LocalSteps::evict(learn::Replica& replica) {
  read(replica, strategy_of(job_).averages_with_neighbours ? laid_aside_ : values_);
}

/// With the optimizer, which works on the replica's own buffers: there is a new one after each evaluation.
Status LocalSteps::load(learn::Replica& replica) {
  const auto elements = static_cast<std::size_t>(replica.parameter_elements());
  const std::span<const float> values = laid_aside_.empty() ? values_ : laid_aside_;
  replica.write_parameters(values.first(elements));
  replica.write_states(values.subspan(elements));
  const std::vector<bool> spared = learn::spared_from_decay(replica.graph());
  std::vector<learn::Optimizer::Parameter> parameters;
  for (const auto& view : replica.execution().parameters())
    parameters.push_back({view.value, view.gradient, spared[parameters.size()]});
  if (optimizer_) {
    optimizer_->move_to(std::move(parameters));
  } else {
    MG_TRY(optimizer_, learn::Optimizer::create(optimizer_options_, std::move(parameters)));
  }
  return {};
}

/// Whatever comes from the leader meanwhile means that nobody waits for this work any more.
Result<bool> LocalSteps::is_interrupted() {
  Result<net::Message> message = context_.endpoint.recv({0}, kWorkTag, Deadline{});
  if (!message.ok() && message.code() == Code::deadline_exceeded) return false;
  MG_TRY(interruption_, std::move(message));
  return true;
}

/// Often enough not to be taken for silent.
void LocalSteps::tell_leader(std::uint64_t round, std::int64_t done) {
  const Instant now = context_.clock.now();
  if (now - last_told_ < job_.step_timeout_s() / 3) return;
  last_told_ = now;
  Answer answer;
  answer.set_round(round);
  answer.set_done(done);
  context_.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
