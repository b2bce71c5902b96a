#include "mangrove/train/source.h"

#include <algorithm>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/subset.h"
#include "mangrove/train/balance.h"
#include "mangrove/train/data_split.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {

namespace {

constexpr Bytes kSampleOverhead = 64;  // at most, of one in the cache

}  // namespace

Source::Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t limit, const data::LoaderOptions& options,
               bool reads_ahead)
    : dataset_(data::first_samples(std::move(dataset), limit)), loader_(dataset_, options), reads_ahead_(reads_ahead) {}

bool Source::has(const Samples& samples) const {
  return !samples.empty() && std::all_of(samples.begin(), samples.end(), [&](auto i) { return i < size(); });
}

Status Source::prepare(const Samples& samples, std::int64_t epoch) {
  return reads_ahead_ ? request(samples, epoch) : Status();
}

Status Source::request(const Samples& samples, std::int64_t epoch) {
  if (ahead_ == samples && ahead_epoch_ == epoch) return {};
  if (ahead_) MG_RETURN_IF_ERROR(loader_.next());
  loader_.request(samples, static_cast<std::uint64_t>(epoch));
  ahead_ = samples;
  ahead_epoch_ = epoch;
  return {};
}

Result<data::Batch> Source::take(const Samples& samples, std::int64_t epoch) {
  MG_RETURN_IF_ERROR(request(samples, epoch));
  ahead_.reset();
  return loader_.next();
}

Bytes sample_cache(const TrainJob& job, const data::Dataset& train) {
  if (!train.decodes()) return 0;
  const Bytes cache = job.memory() > 0 ? std::min(job.sample_cache(), job.memory() / 8) : job.sample_cache();
  const Bytes sample = train.sample_shape().elements() * static_cast<Bytes>(sizeof(float)) + kSampleOverhead;
  return cache / sample < train.size() ? cache : sample * train.size();
}

Result<Sources::Splits> Sources::open(const TrainJob& job, const fs::path& data_folder) {
  const auto open_split = [&](data::Split split) { return data::open_dataset(job.data(), split, data_folder); };
  Splits splits;
  MG_TRY(splits.train, open_split(data::Split::train));
  MG_TRY(splits.test, open_split(data::Split::test));
  auto validation = open_split(data::Split::validation);
  if (!validation.ok() && validation.code() != Code::not_found) return validation.error();
  if (validation.ok()) splits.validation = *std::move(validation);
  return splits;
}

Result<std::unique_ptr<Sources>> Sources::create(const TrainJob& job, const Splits& splits,
                                                 const net::RoleContext& context) {
  auto sources = std::make_unique<Sources>();
  const bool reads_ahead = context.bench == nullptr;
  data::LoaderOptions options{.batch = job.batch(), .workers = context.threads, .seed = job.seed()};
  if (!job.augment().empty()) {
    MG_TRY(options.augmentation, data::Augmentation::create(job.augment(), *splits.train).context("augment"));
    sources->augmentation_ = options.augmentation->text();
  }
  sources->test_.emplace(splits.test, job.limit(), options, reads_ahead);
  if (splits.validation != nullptr) sources->validation_.emplace(splits.validation, job.limit(), options, reads_ahead);
  options.training = true;
  options.batch = most_in_batch(job);
  options.cache = sample_cache(job, *splits.train);
  sources->train_.emplace(splits.train, job.limit(), options, reads_ahead);
  MG_TRY(const DataSplit split, parse_split(job.split()));
  sources->tells_labels_ = split.kind != DataSplit::Kind::iid;
  MG_TRY(const std::uint32_t window, shuffle_window(job));
  sources->tells_runs_ = window > 0;
  return sources;
}

Source& Sources::of(const Work& work) {
  if (work.kind() == Work::TRAIN) return *train_;
  return work.validation() && validation_ ? *validation_ : *test_;
}

void Sources::describe(Hello& hello) const {
  const data::Dataset& dataset = train_->dataset();
  hello.set_train_samples(train_->size());
  hello.set_test_samples(test_->size());
  hello.set_validation_samples(validation_ ? validation_->size() : 0);
  hello.set_augmentation(augmentation_);
  for (const std::string& name : dataset.class_names()) hello.add_classes(name);
  for (const std::int64_t size : dataset.sample_shape()) hello.add_sample_shape(size);
  for (std::uint32_t i = 0; tells_labels_ && i < dataset.size(); ++i) hello.add_labels(dataset.label(i));
  if (!tells_runs_) return;
  for (const std::uint32_t end : dataset.run_ends()) hello.add_run_ends(end);
}

}  // namespace mangrove::train
