#include "mangrove/train/worker.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/loader.h"
#include "mangrove/data/subset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/recipe.h"
#include "mangrove/train/reducer.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr Bytes kConnection = MiB(12);  // of gRPC, once messages flow
constexpr Seconds kWait = 5;            // for work; then it is waited for again, as long as the server is alive

using Samples = std::vector<std::uint32_t>;

/// One split of the data set, with its loader and the batch that it prepares ahead.
class Source {
 public:
  Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t limit, const data::LoaderOptions& options)
      : dataset_(data::first_samples(std::move(dataset), limit)), loader_(dataset_, options) {}

  const data::Dataset& dataset() const { return *dataset_; }
  std::int64_t size() const { return dataset_->size(); }
  bool has(const Samples& samples) const {
    return !samples.empty() && std::all_of(samples.begin(), samples.end(), [&](auto i) { return i < size(); });
  }

  /// Prepares these samples as they are in this epoch, in place of what was prepared before and not taken.
  Status prepare(const Samples& samples, std::int64_t epoch) {
    if (ahead_ == samples && ahead_epoch_ == epoch) return {};
    if (ahead_) MG_RETURN_IF_ERROR(loader_.next());
    loader_.request(samples, static_cast<std::uint64_t>(epoch));
    ahead_ = samples;
    ahead_epoch_ = epoch;
    return {};
  }
  Result<data::Batch> take(const Samples& samples, std::int64_t epoch) {
    MG_RETURN_IF_ERROR(prepare(samples, epoch));
    ahead_.reset();
    return loader_.next();
  }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  data::Loader loader_;
  std::optional<Samples> ahead_;
  std::int64_t ahead_epoch_ = 0;
};

class Worker {
 public:
  Worker(const TrainJob& job, net::RoleContext& context) : job_(job), context_(context) {}
  Status run();

 private:
  Status prepare();
  bool reduces() const { return job_.strategy() == "all_reduce"; }
  Status open_data();
  Status make_replica(const Graph& graph, Mode mode);
  Status plan_replica();
  Result<std::int64_t> resumed_micro_batch() const;
  learn::ReplicaOptions replica_options(Mode mode) const;
  learn::MemoryBudget memory_budget(const Graph& graph) const;
  Status take_values(std::span<const float> values, Mode mode);
  Source& source(const Work& work);
  void say_hello();
  Status handle(const Work& work, std::string_view body);
  /// False for work that cannot be done: it is not for this job, or something before it got lost.
  Result<bool> accept(const Work& work, std::string_view body);
  Result<net::Message> next_message();
  Status train(const Work& work);
  Result<bool> reduce(const Work& work, std::int64_t samples);
  std::span<const float> share_of_sums(const Work& work);
  Status evaluate(const Work& work);
  void answer(Answer answer, std::uint64_t round, std::span<const float> gradient);

  const TrainJob& job_;
  net::RoleContext& context_;
  Status failure_;  // why this worker cannot take part
  std::optional<Graph> graph_;
  learn::LossOptions loss_;
  std::string augmentation_;                         // see Hello
  std::optional<Source> train_, validation_, test_;  // validation: where the data set has one
  std::unique_ptr<learn::Replica> replica_;
  std::unique_ptr<Reducer> reducer_;        // of all_reduce only
  std::optional<learn::ProcessPlan> plan_;  // of training; made once, so that all steps are computed alike
  std::int64_t version_ = -1;               // of the replica's values
  std::size_t parameters_ = 0;              // elements
  std::vector<float> flat_;                 // values (see Master) on their way in; gradient and states on their way out
};

void describe(const learn::ProcessPlan& plan, MemoryPlan& message) {
  message.set_micro_batch(plan.training.micro_batch);
  message.set_micro_batches(plan.training.micro_batches());
  message.set_recomputed_share(plan.training.recomputed_share);
  message.set_predicted_peak(plan.predicted_peak());
  message.set_unlimited(plan.training.unlimited);
}

Status Worker::prepare() {
  MG_TRY(graph_, parse_onnx(job_.model()).context("model"));
  MG_TRY(const Recipe recipe, recipe_of(job_));
  loss_ = recipe.loss;
  MG_RETURN_IF_ERROR(open_data());
  MG_RETURN_IF_ERROR(plan_replica());
  if (reduces()) {
    MG_TRY(const Topology topology, parse_topology(job_.topology()));
    MG_TRY(reducer_, Reducer::create(*graph_, recipe, topology, context_, step_timeout(job_)));
  }
  graph_ = graph_->without_weights();  // they come with the work
  parameters_ = static_cast<std::size_t>(replica_->parameter_elements());
  flat_.resize(parameters_ + static_cast<std::size_t>(replica_->state_elements()));
  return {};
}

Status Worker::open_data() {
  const auto open = [&](data::Split split) { return data::open_dataset(job_.data(), split, context_.data_folder); };
  MG_TRY(auto train, open(data::Split::train));
  MG_TRY(auto test, open(data::Split::test));
  data::LoaderOptions options{.batch = job_.batch(), .workers = context_.threads, .seed = job_.seed()};
  if (!job_.augment().empty()) {
    MG_TRY(options.augmentation, data::Augmentation::create(job_.augment(), *train).context("augment"));
    augmentation_ = options.augmentation->text();
  }
  test_.emplace(std::move(test), job_.limit(), options);
  auto validation = open(data::Split::validation);
  if (validation.ok()) validation_.emplace(std::move(*validation), job_.limit(), options);
  if (!validation.ok() && validation.code() != Code::not_found) return validation.error();
  options.training = true;
  train_.emplace(std::move(train), job_.limit(), options);
  return {};
}

/// Of this rank in the run that is resumed: a plan of its own might have another, and the gradients other roundings.
/// 0: there is none.
Result<std::int64_t> Worker::resumed_micro_batch() const {
  if (job_.resume_from().empty()) return 0;
  MG_TRY(const learn::Checkpoint checkpoint, learn::parse_checkpoint(job_.resume_from()).context("resume"));
  const auto worker = static_cast<std::size_t>(context_.endpoint.rank()) - 1;
  if (worker >= checkpoint.micro_batches.size()) return 0;
  const std::int64_t micro_batch = checkpoint.micro_batches[worker];
  return micro_batch >= 0 && micro_batch <= job_.batch() ? micro_batch : 0;  // else of another job
}

Status Worker::plan_replica() {
  std::int64_t micro_batch = job_.micro_batch();
  if (micro_batch == 0) {
    MG_TRY(micro_batch, resumed_micro_batch());
  }
  learn::ReplicaOptions options = replica_options(Mode::training);
  options.memory = memory_budget(*graph_);
  options.micro_batch = micro_batch;
  auto replica = learn::Replica::create(*graph_, options);
  if (!replica.ok() && replica.code() == Code::resource_exhausted && micro_batch != job_.micro_batch()) {
    log_warn("resumed with another micro-batch", {{"before", micro_batch}, {"why", replica.error().message}});
    options.micro_batch = job_.micro_batch();
    replica = learn::Replica::create(*graph_, options);
  }
  if (!replica.ok()) return replica.error();
  replica_ = *std::move(replica);
  plan_ = replica_->plan();
  return {};
}

learn::ReplicaOptions Worker::replica_options(Mode mode) const {
  return {.batch = job_.batch(), .mode = mode, .backend = job_.backend(), .threads = context_.threads, .loss = loss_};
}

/// One computed like all before it.
Status Worker::make_replica(const Graph& graph, Mode mode) {
  replica_.reset();
  version_ = -1;
  learn::ReplicaOptions options = replica_options(mode);
  options.plan = plan_;
  options.micro_batch = plan_->training.micro_batch;
  MG_TRY(replica_, learn::Replica::create(graph, options));
  return {};
}

/// Beside its program, a worker holds batches (those that are loaded ahead, and the one in use), and parameters as they
/// travel: in its own vector, in the message that brings them and in the one that takes gradients away. For all_reduce
/// it also has what a Reducer keeps (the network, values, gradient, sums, a scratch vector, what the optimizer
/// remembers) and the state, in a message and out of it.
learn::MemoryBudget Worker::memory_budget(const Graph& graph) const {
  constexpr Bytes kFloat = sizeof(float);
  const Bytes weights = graph.parameter_elements() * kFloat;
  const Bytes batch = job_.batch() * train_->dataset().sample_shape().elements() * kFloat;
  const Bytes held = (reduces() ? 15 : 4) * weights;
  return {.limit = job_.memory(), .reserved = kConnection + held + 5 * batch, .released = weights};
}

Source& Worker::source(const Work& work) {
  if (work.kind() == Work::TRAIN) return *train_;
  return work.validation() && validation_ ? *validation_ : *test_;
}

/// Makes the replica one of these values. Evaluation gets a new one: what is compiled for inference may have its
/// weights folded.
Status Worker::take_values(std::span<const float> values, Mode mode) {
  if (mode == Mode::inference) {
    MG_TRY(const Graph trained, learn::with_flat_parameters(*graph_, values.first(parameters_)));
    MG_TRY(const Graph graph, learn::with_flat_states(trained, values.subspan(parameters_)));
    return make_replica(graph, mode);
  }
  if (replica_->mode() != mode) MG_RETURN_IF_ERROR(make_replica(*graph_, mode));
  replica_->write_parameters(values.first(parameters_));
  replica_->write_states(values.subspan(parameters_));
  return {};
}

Status Worker::run() {
  failure_ = prepare();
  say_hello();
  while (true) {
    Result<net::Message> message = next_message();
    if (!message.ok() && message.code() == Code::deadline_exceeded) continue;
    if (!message.ok()) return message.error().context("training: the server");
    Work work;
    const Result<net::PayloadParts> parts = net::split_payload(message->payload);
    if (!parts.ok() || !work.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
      log_warn("work cannot be read", {{"bytes", message->payload.size()}});
      continue;
    }
    if (work.kind() == Work::END) return failure_;
    if (work.kind() == Work::PING || !failure_.ok()) {
      say_hello();
      continue;
    }
    failure_ = handle(work, parts->body);
    if (!failure_.ok()) say_hello();
  }
}

Result<net::Message> Worker::next_message() {
  if (reducer_) {
    if (std::optional<net::Message> interruption = reducer_->take_interruption()) return *std::move(interruption);
  }
  return context_.endpoint.recv({0}, kWorkTag, context_.clock.after(kWait));
}

void Worker::say_hello() {
  Hello hello;
  if (failure_.ok()) {
    const data::Dataset& dataset = train_->dataset();
    if (plan_) describe(*plan_, *hello.mutable_memory());
    hello.set_train_samples(train_->size());
    hello.set_test_samples(test_->size());
    hello.set_validation_samples(validation_ ? validation_->size() : 0);
    hello.set_augmentation(augmentation_);
    for (const std::string& name : dataset.class_names()) hello.add_classes(name);
    for (const std::int64_t size : dataset.sample_shape()) hello.add_sample_shape(size);
  } else {
    hello.set_code(static_cast<int>(failure_.code()));
    hello.set_message(failure_.error().message);
  }
  context_.endpoint.send(0, kHelloTag, hello.SerializeAsString());
}

Status Worker::handle(const Work& work, std::string_view body) {
  MG_TRY(const bool accepted, accept(work, body));
  if (!accepted) {
    log_warn("work cannot be done", {{"round", work.round()}, {"version", work.version()}, {"have", version_}});
    return {};
  }
  return work.kind() == Work::TRAIN ? train(work) : evaluate(work);
}

Result<bool> Worker::accept(const Work& work, std::string_view body) {
  if (work.kind() != Work::TRAIN && work.kind() != Work::EVALUATE) return false;
  const Mode mode = work.kind() == Work::TRAIN ? Mode::training : Mode::inference;
  if (!source(work).has({work.samples().begin(), work.samples().end()})) return false;
  if (mode == Mode::training && work.samples_size() > job_.batch()) return false;
  if (work.has_reduction()) {
    if (!reducer_ || !reducer_->follow(work, body)) return false;
    MG_RETURN_IF_ERROR(take_values(reducer_->values(), mode));
    version_ = work.version();
  } else if (!body.empty()) {
    if (body.size() != flat_.size() * sizeof(float)) return false;
    MG_RETURN_IF_ERROR(net::read_floats(body, flat_));
    MG_RETURN_IF_ERROR(take_values(flat_, mode));
    version_ = work.version();
  }
  return replica_ != nullptr && replica_->mode() == mode && version_ == work.version();
}

/// Gradients of the plain sum of losses: only the server knows by how many samples of the step to divide.
Status Worker::train(const Work& work) {
  MG_TRY(const data::Batch batch, train_->take({work.samples().begin(), work.samples().end()}, work.epoch()));
  const Samples next(work.next_samples().begin(), work.next_samples().end());
  if (train_->has(next) && static_cast<std::int64_t>(next.size()) <= job_.batch())
    MG_RETURN_IF_ERROR(train_->prepare(next, work.next_epoch()));
  replica_->seed(learn::step_seed(job_.seed(), work.version(), context_.endpoint.rank()));
  const learn::BatchStats stats = replica_->compute_gradients(batch, 1.0f);
  replica_->read_gradients(std::span(flat_).first(parameters_));
  replica_->read_states(std::span(flat_).subspan(parameters_));
  Answer result;
  result.set_loss(stats.loss);
  result.set_correct(stats.correct);
  result.set_count(stats.count);
  if (!work.has_reduction()) {
    answer(std::move(result), work.round(), flat_);
    return {};
  }
  MG_TRY(const bool reduced, reduce(work, stats.count));
  if (reduced) answer(std::move(result), work.round(), share_of_sums(work));
  return {};
}

/// Sums what is in flat_ over the workers; states become their mean over the samples.
Result<bool> Worker::reduce(const Work& work, std::int64_t samples) {
  const double share = static_cast<double>(samples) / static_cast<double>(work.reduction().samples());
  for (float& state : std::span(flat_).subspan(parameters_)) state *= static_cast<float>(share);
  return reducer_->reduce(work, flat_);
}

/// What the leader gets from this worker.
std::span<const float> Worker::share_of_sums(const Work& work) {
  const auto& ranks = work.reduction().ranks();
  const auto me = std::find(ranks.begin(), ranks.end(), context_.endpoint.rank());
  return part_of(flat_, static_cast<std::size_t>(me - ranks.begin()), static_cast<std::size_t>(ranks.size()));
}

Status Worker::evaluate(const Work& work) {
  const Samples samples(work.samples().begin(), work.samples().end());
  const auto part = [&](std::size_t first) {
    const std::size_t last = std::min(samples.size(), first + static_cast<std::size_t>(job_.batch()));
    return Samples(samples.begin() + static_cast<std::ptrdiff_t>(first),
                   samples.begin() + static_cast<std::ptrdiff_t>(last));
  };
  Answer result;
  for (std::size_t first = 0; first < samples.size();) {
    MG_TRY(const data::Batch batch, source(work).take(part(first), 0));
    first += static_cast<std::size_t>(batch.count);
    if (first < samples.size()) MG_RETURN_IF_ERROR(source(work).prepare(part(first), 0));
    learn::BatchStats stats;
    const std::vector<std::int32_t> predictions = replica_->predict(batch, &stats);
    result.add_losses(stats.loss);
    result.mutable_predictions()->Add(predictions.begin(), predictions.end());
    result.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  }
  result.set_count(static_cast<std::int64_t>(samples.size()));
  answer(std::move(result), work.round(), {});
  return {};
}

void Worker::answer(Answer answer, std::uint64_t round, std::span<const float> gradient) {
  answer.set_round(round);
  answer.set_peak_resident(peak_resident_memory());
  std::string payload = net::begin_payload(answer.SerializeAsString(), gradient.size_bytes());
  net::append_floats(payload, gradient);
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

}  // namespace

Status run_worker(const TrainJob& job, net::RoleContext& context) {
  return Worker(job, context).run();
}

}  // namespace mangrove::train
