#include "mangrove/train/local_steps.h"

#include <algorithm>

#include "mangrove/data/loader.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

/// Of one pass.
std::size_t steps_of(std::size_t samples, std::size_t batch) {
  return (samples + batch - 1) / batch;
}

}  // namespace

Result<std::unique_ptr<LocalSteps>> LocalSteps::create(Graph graph, const Recipe& recipe, const TrainJob& job,
                                                       net::RoleContext& context,
                                                       std::optional<net::Message>& interruption) {
  Recipe own = recipe;
  own.ema_decay = 0;  // the leader keeps the average
  MG_TRY(std::unique_ptr<Master> master, Master::create(std::move(graph), own));
  return std::unique_ptr<LocalSteps>(new LocalSteps(std::move(master), job, context, interruption));
}

LocalSteps::LocalSteps(std::unique_ptr<Master> master, const TrainJob& job, net::RoleContext& context,
                       std::optional<net::Message>& interruption)
    : master_(std::move(master)),
      job_(job),
      context_(context),
      flat_(master_->values().size()),
      interruption_(interruption) {}

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

Result<std::optional<learn::BatchStats>> LocalSteps::run(const Work& work, learn::Replica& replica, Source& source) {
  const std::vector<Batch> all = batches(work);
  const Source::Samples next(work.next_samples().begin(), work.next_samples().end());
  learn::BatchStats stats;
  last_told_ = context_.clock.now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    MG_TRY(const data::Batch batch, source.take(all[i].samples, all[i].epoch));
    if (i + 1 < all.size()) {
      MG_RETURN_IF_ERROR(source.prepare(all[i + 1].samples, all[i + 1].epoch));
    } else if (source.has(next) && static_cast<std::int64_t>(next.size()) <= job_.batch()) {
      MG_RETURN_IF_ERROR(source.prepare(next, work.next_epoch()));
    }
    const auto stream = static_cast<std::uint64_t>(i);
    replica.seed(learn::step_seed(job_.seed() + stream, work.version(), context_.endpoint.rank()));
    stats += step(batch, work.learning_rates(static_cast<int>(i)), replica);
    if (i + 1 == all.size()) break;
    MG_TRY(const bool interrupted, is_interrupted());
    if (interrupted) return std::optional<learn::BatchStats>();
    tell_leader(work.round(), stats.count);
  }
  return std::optional(stats);
}

learn::BatchStats LocalSteps::step(const data::Batch& batch, float learning_rate, learn::Replica& replica) {
  const learn::BatchStats stats = replica.compute_gradients(batch, 1.0f);
  const auto parameters = static_cast<std::size_t>(replica.parameter_elements());
  replica.read_gradients(std::span(flat_).first(parameters));
  replica.read_states(std::span(flat_).subspan(parameters));
  body_.clear();
  net::append_floats(body_, flat_);
  const Master::Part part{body_, stats.count};
  master_->step(std::span(&part, 1), learning_rate, ++steps_);
  replica.write_parameters(values().first(parameters));
  return stats;
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
  if (now - last_told_ < step_timeout(job_) / 3) return;
  last_told_ = now;
  Answer answer;
  answer.set_round(round);
  answer.set_done(done);
  context_.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
