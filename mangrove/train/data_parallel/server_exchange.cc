#include "mangrove/train/data_parallel/server_exchange.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/secure_key.h"

namespace mangrove::train {
namespace {

using Phase = StepTimer::Phase;

}  // namespace

bool ServerExchange::accept(const Work& work, std::string_view body) {
  if (work.has_reduction() || work.has_averaging()) return false;
  return codecs_->decodes() ? codecs_->take(work, body) : body.size() == trainee_.pool().flat().size_bytes();
}

void ServerExchange::read_values(std::string_view body, std::span<float> values) const {
  if (codecs_->decodes()) return codecs_->read_values(values);
  MG_CHECK(net::read_floats(body, values).ok());
}

void ServerExchange::answer_update(const learn::BatchStats& stats, const Work& work) {
  ReplicaPool& pool = trainee_.pool();
  const std::span<const float> update = pool.flat_parameters(), states = pool.flat_states();
  codecs_->keep_states(states);
  if (codecs_->encodes()) {
    Answer encoded = answer_with(stats);
    const WorkerCodecs::OnWire before{trainee_.timer().on_wire(), trainee_.transferred_bytes()};
    const double loss = stats.loss / static_cast<double>(stats.count);
    const std::string message = codecs_->encode(update, loss, before, encoded);
    trainee_.answer(std::move(encoded), work.round(), work.states() ? states : std::span<const float>(), message);
  } else {
    trainee_.answer(answer_with(stats), work.round(), pool.flat());
  }
  trainee_.timer().end_step();
}

Result<std::unique_ptr<Exchange>> GradientsToServer::create(Trainee& trainee, const Graph& graph) {
  MG_TRY(auto codecs, WorkerCodecs::create(trainee.job(), trainee.recipe(), graph, trainee.context()));
  return std::unique_ptr<Exchange>(new GradientsToServer(trainee, std::move(codecs)));
}

bool GradientsToServer::accept(const Work& work, std::string_view body) {
  return work.samples_size() <= most_in_batch(trainee_.job()) && ServerExchange::accept(work, body);
}

/// Gradients of the plain sum of losses: only the server knows by how many samples of the step to divide.
Status GradientsToServer::train(const Work& work, std::string_view body) {
  MG_TRY(const auto step, trainee_.begin_step(work, [&](std::span<float> values) { read_values(body, values); }));
  if (!step) return {};
  const learn::BatchStats stats = step->replica->compute_gradients(step->batch, 1.0f);
  trainee_.timer().enter(Phase::encode);
  const std::span<float> gradient = trainee_.pool().flat_parameters();
  step->replica->read_gradients(gradient);
  step->replica->read_states(trainee_.pool().flat_states());
  if (codecs().encodes()) {
    for (float& value : gradient) value /= static_cast<float>(stats.count);
  }
  answer_update(stats, work);
  return {};
}

ChangesToServer::ChangesToServer(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs, const Graph& graph)
    : ServerExchange(trainee, std::move(codecs)),
      local_(trainee.recipe().optimizer, trainee.job(), trainee.context(), trainee.interruption()),
      layout_(trainee.pool().flat_parameters().size(), trainee.pool().flat_states().size(), graph.outputs().size() - 1,
              trainee.job().secure_aggregation() ? shared_mask(trainee.job()) : SharedMask{}) {}

Result<std::unique_ptr<Exchange>> ChangesToServer::create(Trainee& trainee, const Graph& graph) {
  MG_TRY(auto codecs, WorkerCodecs::create(trainee.job(), trainee.recipe(), graph, trainee.context()));
  return std::unique_ptr<Exchange>(new ChangesToServer(trainee, std::move(codecs), graph));
}

bool ChangesToServer::accept(const Work& work, std::string_view body) {
  return local_.accepts(work) && ServerExchange::accept(work, body);
}

Status ChangesToServer::train(const Work& work, std::string_view body) {
  kept_.reset();
  ReplicaPool& pool = trainee_.pool();
  read_values(body, pool.flat());
  local_.set_values(pool.flat());
  trainee_.timer().enter(Phase::compute);
  MG_TRY(const std::optional<learn::BatchStats> stats, local_.run(work, pool, trainee_.timer()));
  if (!stats) return {};
  trainee_.timer().enter(Phase::encode);
  const bool is_mean = codecs().encodes() || trainee_.job().secure_aggregation();
  const auto count = is_mean ? 1.0f : static_cast<float>(stats->count);
  const std::span<const float> values = local_.values();
  const std::span<float> change = pool.flat_parameters(), states = pool.flat_states();
  read_values(body, pool.flat());
  for (std::size_t i = 0; i < change.size(); ++i) change[i] = (change[i] - values[i]) * count;
  std::copy(values.end() - static_cast<std::ptrdiff_t>(states.size()), values.end(), states.begin());
  local_.drop_values();
  if (trainee_.job().secure_aggregation()) {
    keep_update(*stats, work);
  } else {
    answer_update(*stats, work);
  }
  return {};
}

/// Whether all of it are numbers is all that the leader hears of it.
void ChangesToServer::keep_update(const learn::BatchStats& stats, const Work& work) {
  if (layout_.has_rest()) {
    unsent_.add_to(trainee_.pool().flat_parameters(),
                   work.has_counted() ? std::optional(work.counted()) : std::nullopt);
  }
  const std::span<const float> values = trainee_.pool().flat();
  keep_states(trainee_.pool().flat_states());
  kept_.emplace(Kept{{values.begin(), values.end()}, stats, {layout_.words(), secure::system_random()}});
  const auto is_number = [](float value) { return std::isfinite(value); };
  const bool are_numbers = std::isfinite(stats.loss) && std::all_of(values.begin(), values.end(), is_number);
  Answer answer;
  answer.set_count(stats.count);
  if (!are_numbers) answer.set_loss(std::numeric_limits<double>::quiet_NaN());
  trainee_.answer(std::move(answer), work.round(), {});
  trainee_.timer().end_step();
}

/// Where it is refused, the leader hears nothing: nobody honest sends such an order.
Status ChangesToServer::sum(const Work& work, std::string_view body) {
  const auto is_weight = [](double weight) { return weight > 0 && weight <= 1; };
  if (!kept_ || !is_weight(work.weights().share()) || !is_weight(work.weights().discount())) {
    log_warn("there is no update for a secure sum", {{"round", work.round()}});
    return {};
  }
  const auto vector = [&] {
    const std::vector<float> values = std::exchange(kept_->values, {});  // they are given once
    SecureUpdate::Encoded encoded = layout_.encode(values, kept_->stats, work.weights(), work.version());
    if (layout_.has_rest()) unsent_.leave_out(work.version(), std::move(encoded.rest));
    return std::move(encoded.words);
  };
  const Result<std::string> reply = kept_->client.reply(body, vector);
  if (reply.ok()) {
    trainee_.answer({}, work.round(), {}, *reply);
  } else {
    log_warn("an order of a secure sum is refused", {{"round", work.round()}, {"why", reply.error().message}});
  }
  return {};
}

}  // namespace mangrove::train
