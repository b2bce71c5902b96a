#include "mangrove/train/worker.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/data/loader.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr Seconds kWait = 5;  // for work; then it is waited for again, as long as the server is alive

using Samples = std::vector<std::uint32_t>;

/// One split of the data set, with its loader and the batch that it prepares ahead.
class Source {
 public:
  Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t batch, std::int64_t limit)
      : dataset_(std::move(dataset)),
        size_(limit > 0 ? std::min<std::int64_t>(limit, dataset_->size()) : dataset_->size()),
        loader_(dataset_, {.batch = batch}) {}

  const data::Dataset& dataset() const { return *dataset_; }
  std::int64_t size() const { return size_; }
  bool has(const Samples& samples) const {
    return !samples.empty() && std::all_of(samples.begin(), samples.end(), [&](auto i) { return i < size_; });
  }

  /// Prepares these samples, in place of what was prepared before and not taken.
  Status prepare(const Samples& samples) {
    if (ahead_ == samples) return {};
    if (ahead_) MG_RETURN_IF_ERROR(loader_.next());
    loader_.request(samples);
    ahead_ = samples;
    return {};
  }
  Result<data::Batch> take(const Samples& samples) {
    MG_RETURN_IF_ERROR(prepare(samples));
    ahead_.reset();
    return loader_.next();
  }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  std::int64_t size_;
  data::Loader loader_;
  std::optional<Samples> ahead_;
};

class Worker {
 public:
  Worker(const TrainJob& job, net::RoleContext& context) : job_(job), context_(context) {}
  Status run();

 private:
  Status prepare();
  Status make_replica(Mode mode);
  void say_hello();
  Status handle(const Work& work, std::string_view body);
  /// False for work that cannot be done: it is not for this job, or something before it got lost.
  Result<bool> accept(const Work& work, std::string_view body);
  Status train(const Work& work);
  Status evaluate(const Work& work);
  void answer(Answer answer, std::uint64_t round, std::span<const float> gradient);

  const TrainJob& job_;
  net::RoleContext& context_;
  Status failure_;  // why this worker cannot take part
  std::optional<Graph> graph_;
  std::optional<Source> train_, test_;
  std::unique_ptr<learn::Replica> replica_;
  Mode mode_ = Mode::training;
  std::int64_t version_ = -1;  // of the replica's parameters
  std::vector<float> flat_;    // parameters on their way in, gradient on its way out
};

Status Worker::prepare() {
  MG_TRY(graph_, parse_onnx(job_.model()).context("model"));
  MG_TRY(auto train, data::open_dataset(job_.data(), data::Split::train, context_.data_folder));
  MG_TRY(auto test, data::open_dataset(job_.data(), data::Split::test, context_.data_folder));
  train_.emplace(std::move(train), job_.batch(), job_.limit());
  test_.emplace(std::move(test), job_.batch(), job_.limit());
  return make_replica(Mode::training);
}

Status Worker::make_replica(Mode mode) {
  replica_.reset();
  version_ = -1;
  mode_ = mode;
  MG_TRY(replica_,
         learn::Replica::create(
             *graph_, {.batch = job_.batch(), .mode = mode, .backend = job_.backend(), .threads = context_.threads}));
  flat_.resize(static_cast<std::size_t>(replica_->parameter_elements()));
  return {};
}

Status Worker::run() {
  failure_ = prepare();
  say_hello();
  while (true) {
    Result<net::Message> message = context_.endpoint.recv({0}, kWorkTag, context_.clock.after(kWait));
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

void Worker::say_hello() {
  Hello hello;
  if (failure_.ok()) {
    const data::Dataset& dataset = train_->dataset();
    hello.set_train_samples(train_->size());
    hello.set_test_samples(test_->size());
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
  const Source& source = mode == Mode::training ? *train_ : *test_;
  if (!source.has({work.samples().begin(), work.samples().end()})) return false;
  if (mode == Mode::training && work.samples_size() > job_.batch()) return false;
  if (mode != mode_) MG_RETURN_IF_ERROR(make_replica(mode));
  if (!body.empty()) {
    if (!net::read_floats(body, flat_).ok()) return false;
    replica_->write_parameters(flat_);
    version_ = work.version();
  }
  return version_ == work.version();
}

/// Gradients of the plain sum of losses: only the server knows by how many samples of the step to divide.
Status Worker::train(const Work& work) {
  MG_TRY(const data::Batch batch, train_->take({work.samples().begin(), work.samples().end()}));
  const Samples next(work.next_samples().begin(), work.next_samples().end());
  if (train_->has(next) && static_cast<std::int64_t>(next.size()) <= job_.batch())
    MG_RETURN_IF_ERROR(train_->prepare(next));
  const learn::BatchStats stats = replica_->compute_gradients(batch, 1.0f);
  replica_->read_gradients(flat_);
  Answer result;
  result.set_loss(stats.loss);
  result.set_correct(stats.correct);
  result.set_count(stats.count);
  answer(std::move(result), work.round(), flat_);
  return {};
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
    MG_TRY(const data::Batch batch, test_->take(part(first)));
    first += static_cast<std::size_t>(batch.count);
    if (first < samples.size()) MG_RETURN_IF_ERROR(test_->prepare(part(first)));
    const std::vector<std::int32_t> predictions = replica_->predict(batch);
    result.mutable_predictions()->Add(predictions.begin(), predictions.end());
    result.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  }
  result.set_count(static_cast<std::int64_t>(samples.size()));
  answer(std::move(result), work.round(), {});
  return {};
}

void Worker::answer(Answer answer, std::uint64_t round, std::span<const float> gradient) {
  answer.set_round(round);
  std::string payload = net::begin_payload(answer.SerializeAsString(), gradient.size_bytes());
  net::append_floats(payload, gradient);
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

}  // namespace

Status run_worker(const TrainJob& job, net::RoleContext& context) {
  return Worker(job, context).run();
}

}  // namespace mangrove::train
