#include "mangrove/train/data_parallel/hybrid_exchange.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/train/data_parallel/all_reduce_exchange.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/hybrid_check.h"

namespace mangrove::train {
namespace {

using Phase = StepTimer::Phase;

constexpr Bytes kConnection = MiB(12);  // of gRPC, once messages flow

/// Elements of `values` for `rows` rows of a batch from row `first` on, `fallback` for rows behind its end. Empty: the
/// batch has none.
template <class T>
std::vector<T> rows_from(const std::vector<T>& values, std::size_t first, std::size_t rows, T fallback) {
  if (values.empty()) return {};
  std::vector<T> some(rows, fallback);
  const std::size_t last = std::min(values.size(), first + rows);
  if (first < last)
    std::copy(values.begin() + static_cast<std::ptrdiff_t>(first), values.begin() + static_cast<std::ptrdiff_t>(last),
              some.begin());
  return some;
}

}  // namespace

net::RankSet HybridExchange::Place::group() const {
  const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(index - shard());
  return {first, first + static_cast<std::ptrdiff_t>(division.ways)};
}

net::RankSet HybridExchange::Place::peers() const {
  net::RankSet same;
  for (std::size_t i = shard(); i < ranks.size(); i += division.ways) same.push_back(ranks[i]);
  return same;
}

HybridExchange::HybridExchange(Trainee& trainee, const Graph& graph, std::unique_ptr<AllReduceWorker> worker,
                               learn::Loss loss)
    : trainee_(trainee),
      graph_(graph.without_weights()),
      pairs_(layer_pairs(graph_)),
      classes_(static_cast<std::int32_t>(graph.value(graph.outputs()[0]).shape[1])),
      worker_(std::move(worker)),
      loss_(std::move(loss)) {}

Result<std::unique_ptr<Exchange>> HybridExchange::create(Trainee& trainee, const Graph& graph) {
  MG_RETURN_IF_ERROR(check_hybrid(trainee.job(), graph, trainee.recipe()));
  MG_TRY(learn::Loss loss, learn::Loss::create(trainee.recipe().loss));
  MG_TRY(auto worker,
         AllReduceWorker::create(trainee.job(), trainee.recipe(), trainee.context(), trainee.interruption()));
  trainee.pool().release();  // it classifies only
  return std::unique_ptr<Exchange>(new HybridExchange(trainee, graph, std::move(worker), std::move(loss)));
}

/// Nothing: it makes no sense.
std::optional<HybridExchange::Place> HybridExchange::place_in(const Work& work) const {
  const DividedLayers& divided = work.divided();
  Place place{.division = {.pair = divided.pair(), .ways = divided.ways()},
              .ranks = {work.reduction().ranks().begin(), work.reduction().ranks().end()}};
  const auto me = std::ranges::find(place.ranks, trainee_.context().endpoint.rank());
  const std::size_t workers = place.ranks.size(), ways = place.division.ways;
  if (me == place.ranks.end() || divided.pair() >= pairs_.size() || ways == 0 || workers % ways != 0 ||
      ways > static_cast<std::size_t>(pairs_[divided.pair()].hidden) ||
      divided.samples_size() != static_cast<int>(workers))
    return std::nullopt;
  place.index = static_cast<std::size_t>(me - place.ranks.begin());
  const auto is_batch = [&](std::int64_t samples) { return samples >= 0 && samples <= most_in_batch(trainee_.job()); };
  if (!std::ranges::all_of(divided.samples(), is_batch) ||
      divided.samples(static_cast<int>(place.index)) != work.samples_size())
    return std::nullopt;
  return place;
}

/// From now on this worker has another shard.
Status HybridExchange::take_place(const Place& place) {
  NetworkShard shard = NetworkShard::of(graph_, pairs_[place.division.pair], place.shard(), place.division.ways);
  const bool is_alike = place_ && place_->division == place.division &&  // then the compiled parts will do
                        shard_->divided_elements() == shard.divided_elements();
  if (!is_alike) network_ = nullptr;
  place_.reset();
  shard_ = std::move(shard);
  MG_RETURN_IF_ERROR(worker_->use(shard_->graph(), shard_->divided()));
  sums_.assign(worker_->values().size(), 0.0f);
  place_ = place;
  return {};
}

bool HybridExchange::accept(const Work& work, std::string_view body) {
  if (!work.has_reduction() || work.samples_size() > most_in_batch(trainee_.job())) return false;
  const std::optional<Place> place = place_in(work);
  if (!place || (!work.state() && place != place_)) return false;
  trainee_.timer().enter(Phase::compute);  // the last step's update
  if (place != place_) {
    if (const Status status = take_place(*place); !status.ok()) {
      log_warn("this worker cannot take its part of the layers", {{"reason", status.error().message}});
      return false;
    }
  }
  const bool follows = worker_->follow(work, body);
  trainee_.timer().enter(Phase::encode);
  return follows;
}

/// Rows that go through the network together.
std::size_t HybridExchange::rows_at_once() const {
  const TrainJob& job = trainee_.job();
  if (job.micro_batch() > 0) return static_cast<std::size_t>(job.micro_batch());
  return static_cast<std::size_t>(micro_batch_of_shares(job).value_or(most_in_batch(job)));
}

Status HybridExchange::make_network() {
  const TrainJob& job = trainee_.job();
  job::RoleContext& context = trainee_.context();
  const Bytes weights = shard_->graph().parameter_elements() * kFloatBytes;
  const Bytes batch = most_in_batch(job) * trainee_.pool().data().sample_shape().elements() * kFloatBytes;
  const LayerPair& pair = pairs_[place_->division.pair];
  const Bytes messages = 4 * kFloatBytes * static_cast<Bytes>(place_->division.ways * rows_at_once()) *
                         (pair.features + pair.outputs);  // of each member: as they come, and as they are used
  const learn::MemoryBudget budget{
      .limit = most_memory(job, context.device),
      .reserved = kConnection + 4 * weights + 5 * batch + messages + trainee_.pool().data().cached(),
      .resident = [&device = context.device] { return device.resident_memory(); }};
  const DividedNetwork::Options options{.rows = static_cast<std::int64_t>(rows_at_once()),
                                        .members = static_cast<std::int64_t>(place_->division.ways),
                                        .backend = job.backend(),
                                        .threads = context.threads};
  MG_TRY(network_, DividedNetwork::create(*shard_, options, budget));
  return {};
}

/// Of the micro-batch that each worker of the group has from this row of its batch on.
std::vector<std::size_t> HybridExchange::rows_of(const Work& work, std::size_t first) const {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < place_->division.ways; ++i) {
    const auto member = static_cast<int>(place_->index - place_->shard() + i);
    const auto samples = static_cast<std::size_t>(work.divided().samples(member));
    rows.push_back(std::min(rows_at_once(), samples - std::min(first, samples)));
  }
  return rows;
}

/// Rows behind the samples repeat them, so that the statistics of batch normalization are of samples only.
std::vector<float> HybridExchange::input_rows(const data::Batch& batch, std::size_t first) const {
  const std::span<const float> images = batch.images.as<float>();
  const std::size_t width = images.size() / batch.labels.size(), count = static_cast<std::size_t>(batch.count) - first;
  std::vector<float> input;
  input.reserve(rows_at_once() * width);
  for (std::size_t row = 0; row < rows_at_once(); ++row) {
    const auto image = images.subspan((first + row % count) * width, width);
    input.insert(input.end(), image.begin(), image.end());
  }
  return input;
}

learn::BatchStats HybridExchange::add_loss(const data::Batch& batch, std::size_t first, std::span<const float> logits,
                                           std::span<float> gradient) const {
  const std::size_t rows = rows_at_once();
  const std::vector<std::int32_t> labels = rows_from(batch.labels, first, rows, data::kPadding);
  const std::vector<std::int32_t> second = rows_from(batch.mix_labels, first, rows, 0);
  const std::vector<float> share = rows_from(batch.mix_weight, first, rows, 1.0f);
  return loss_(logits, classes_, {.labels = labels, .second = second, .share = share}, 1, gradient);
}

/// The gradients of these parameters will not change any more.
void HybridExchange::tell_ready(const DividedNetwork::Part& part) {
  for (std::size_t i = 0; i < part.names.count; ++i) worker_->ready(part.names.first + part.names.count - 1 - i);
}

Result<bool> HybridExchange::pass(const Work& work, const data::Batch& batch, std::size_t first,
                                  learn::BatchStats& stats) {
  const net::RankSet group = place_->group();
  std::vector<std::size_t> rows = rows_of(work, first);
  const bool is_mine = rows[place_->shard()] > 0;
  GroupPass pass({.context = trainee_.context(),
                  .network = *network_,
                  .reduction = *worker_,
                  .timer = trainee_.timer(),
                  .pair = pairs_[place_->division.pair]},
                 {.ranks = group, .me = place_->shard(), .rows = std::move(rows)});
  const std::uint64_t seed =
      learn::step_seed(trainee_.job().seed() + first, work.version(), trainee_.context().endpoint.rank());
  const auto loss = [&](std::span<const float> logits, std::span<float> gradient) {
    stats += add_loss(batch, first, logits, gradient);
  };
  return pass.run(is_mine ? input_rows(batch, first) : std::vector<float>(), seed, loss);
}

Result<bool> HybridExchange::pass_all(const Work& work, const data::Batch& batch, learn::BatchStats& stats) {
  for (std::size_t first = 0;; first += rows_at_once()) {
    if (std::ranges::all_of(rows_of(work, first), [](std::size_t rows) { return rows == 0; })) return true;
    MG_TRY(const bool goes_on, pass(work, batch, first, stats));
    if (!goes_on) return false;
  }
}

Status HybridExchange::train(const Work& work, std::string_view) {
  StepTimer& timer = trainee_.timer();
  MG_TRY(const std::optional<data::Batch> batch, trainee_.load(work));
  if (!batch) return {};
  timer.enter(Phase::encode);
  trainee_.pool().release();  // what has classified takes memory
  if (network_ == nullptr) MG_RETURN_IF_ERROR(make_network());
  if (!worker_->begin(work, sums_, place_->peers())) return {};
  network_->write(worker_->values());
  timer.enter(Phase::compute);
  learn::BatchStats stats;
  MG_TRY(const bool passed, pass_all(work, *batch, stats));
  if (!passed) return {};
  network_->read_states(sums_);
  const double share = static_cast<double>(batch->count) / static_cast<double>(work.reduction().samples());
  const std::size_t parameters = shard_->common_elements() + shard_->divided_elements();
  for (float& state : std::span(sums_).subspan(parameters)) state *= static_cast<float>(share);
  worker_->ready(shard_->divided().size());
  for (DividedNetwork::Part* part : {&network_->top(), &network_->pair(), &network_->bottom()}) {
    network_->read_gradients(*part, sums_);
    tell_ready(*part);
  }
  return finish_reduction(trainee_, *worker_, work, stats);
}

}  // namespace mangrove::train
