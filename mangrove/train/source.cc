#include "mangrove/train/source.h"

#include <algorithm>
#include <set>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/prepared.h"
#include "mangrove/data/subset.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/dataset_summary.h"
#include "mangrove/train/frozen.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {

namespace {

constexpr Bytes kSampleOverhead = 64;  // at most, of one in the cache

/// With the statistics of all samples, also where not all are here.
Result<std::shared_ptr<const data::Augmentation>> make_augmentation(const TrainJob& job, const data::Dataset& train,
                                                                    const ShardFetcher* fetcher) {
  if (fetcher == nullptr) return data::Augmentation::create(job.augment(), train);
  const auto refuse = []() -> Result<std::shared_ptr<const data::Dataset>> {
    return make_error(Code::invalid_argument,
                      "it takes from all samples more than can be sent: with data_from own every node has them");
  };
  return data::Augmentation::create(fetcher->augmentation(), train.sample_shape(), refuse);
}

/// The splits with what the job's frozen part makes of each sample in its place. What is random about a training sample
/// is drawn once, so that it is the same in every epoch.
Result<Sources::Splits> features_of_splits(const TrainJob& job, const Sources::Splits& splits,
                                           const std::shared_ptr<const data::Augmentation>& augmentation, int threads) {
  if (augmentation != nullptr && augmentation->mixes())
    return make_error(Code::invalid_argument,
                      "augment: mixup is not for a network with a frozen part, which sees each sample by itself");
  MG_TRY(const auto frozen, make_frozen_part(job, threads));
  const auto features = [&](Sources::Dataset dataset, bool training) -> Result<Sources::Dataset> {
    if (dataset == nullptr) return dataset;
    if (augmentation != nullptr) dataset = data::prepared(std::move(dataset), augmentation, training, job.seed());
    return learn::features_of(std::move(dataset), frozen);
  };
  Sources::Splits changed;
  MG_TRY(changed.train, features(splits.train, /*training=*/true));
  MG_TRY(changed.validation, features(splits.validation, /*training=*/false));
  MG_TRY(changed.test, features(splits.test, /*training=*/false));
  return changed;
}

/// The shards that this worker needs for its samples of the first epoch, in the order in which it needs them.
Result<ShardFetcher::Shards> shards_to_come(const TrainJob& job, const Source& train, const Hello& hello,
                                            const net::Endpoint& endpoint) {
  MG_TRY(const std::vector<net::Rank> owners,
         owners_of_samples(job, hello, static_cast<std::size_t>(endpoint.size()) - 1));
  Source::Samples samples = order_of_epoch(job, hello, 0);
  std::erase_if(samples, [&](std::uint32_t i) { return !owners.empty() && owners[i] != endpoint.rank(); });
  return train.shards_of(samples);
}

}  // namespace

Source::Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t limit, const data::LoaderOptions& options,
               bool reads_ahead, ShardFetcher* fetcher)
    : dataset_(data::first_samples(std::move(dataset), limit)),
      loader_(dataset_, options),
      reads_ahead_(reads_ahead),
      fetcher_(fetcher) {
  if (fetcher_ == nullptr) return;
  for (std::uint32_t i = 0; i < dataset_->size(); ++i) shards_.push_back(fetcher_->shard_of(dataset_->file(i)));
  if (!options.training || !options.augmentation || !options.augmentation->mixes()) return;
  const std::set<std::uint32_t> all(shards_.begin(), shards_.end());
  all_.emplace(all.begin(), all.end());
}

ShardFetcher::Shards Source::shards_of(const Samples& samples) const {
  if (all_) return *all_;
  ShardFetcher::Shards shards;
  std::set<std::uint32_t> seen;
  for (const std::uint32_t sample : samples)
    if (seen.insert(shards_[sample]).second) shards.push_back(shards_[sample]);
  return shards;
}

Result<bool> Source::wait_for(const Samples& samples, std::uint64_t round,
                              std::optional<net::Message>& interruption) const {
  if (fetcher_ == nullptr) return true;
  MG_TRY(std::optional<net::Message> other_work, fetcher_->wait(shards_of(samples), round));
  if (!other_work) return true;
  interruption = std::move(other_work);
  return false;
}

bool Source::has(const Samples& samples) const {
  return !samples.empty() && std::all_of(samples.begin(), samples.end(), [&](auto i) { return i < size(); });
}

Status Source::prepare(const Samples& samples, std::int64_t epoch) {
  const bool are_there = fetcher_ == nullptr || fetcher_->has(shards_of(samples));
  return reads_ahead_ && are_there ? request(samples, epoch) : Status();
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

Bytes most_memory(const TrainJob& job, const job::Device& device) {
  if (job.memory() == 0) return device.usual_memory();
  return device.memory() > 0 ? std::min(job.memory(), device.memory()) : job.memory();
}

Bytes sample_cache(const TrainJob& job, const job::Device& device) {
  const Bytes memory = most_memory(job, device);
  return memory > 0 ? std::min(job.sample_cache(), memory / 8) : job.sample_cache();
}

Bytes share_of_cache(Bytes cache, const data::Dataset& dataset) {
  if (!dataset.decodes()) return 0;
  const Bytes sample = dataset.sample_shape().elements() * static_cast<Bytes>(sizeof(float)) + kSampleOverhead;
  return cache / sample < dataset.size() ? cache : sample * dataset.size();
}

Result<Sources::Splits> Sources::open(const TrainJob& job, const data::DataFolder& data_folder, ShardFetcher* fetcher) {
  if (fetcher != nullptr) MG_RETURN_IF_ERROR(fetcher->open());
  const auto open_split = [&](data::Split split) {
    // the fetcher has chosen where the shards are, not the job, so every path is allowed
    return fetcher == nullptr ? data::open_dataset(job.data(), split, data_folder)
                              : data::open_dataset(fetcher->data(), split, data_folder.path());
  };
  Splits splits;
  MG_TRY(splits.train, open_split(data::Split::train));
  MG_TRY(splits.test, open_split(data::Split::test));
  auto validation = open_split(data::Split::validation);
  if (!validation.ok() && validation.code() != Code::not_found) return validation.error();
  if (validation.ok()) splits.validation = *std::move(validation);
  return splits;
}

Result<std::unique_ptr<Sources>> Sources::create(const TrainJob& job, Splits splits, const job::RoleContext& context,
                                                 ShardFetcher* fetcher) {
  auto sources = std::make_unique<Sources>();
  const bool reads_ahead = !context.device.is_simulated();
  data::LoaderOptions options{.batch = job.batch(), .workers = context.threads, .seed = job.seed()};
  if (!job.augment().empty()) {
    MG_TRY(options.augmentation, make_augmentation(job, *splits.train, fetcher).context("augment"));
    sources->augmentation_ = options.augmentation->text();
  }
  if (has_frozen_part(job)) {
    MG_TRY(splits, features_of_splits(job, splits, options.augmentation, context.threads));
    options.augmentation = nullptr;  // what comes out of the frozen part stays as it is
  }
  sources->test_.emplace(splits.test, job.limit(), options, reads_ahead, fetcher);
  const Bytes cache = sample_cache(job, context.device);
  const Bytes of_train = share_of_cache(cache, *splits.train);
  sources->cached_ = of_train;
  if (splits.validation != nullptr) {
    options.cache = share_of_cache(cache - of_train, *splits.validation);
    sources->cached_ += options.cache;
    sources->validation_.emplace(splits.validation, job.limit(), options, reads_ahead, fetcher);
  }
  options.training = true;
  options.batch = most_in_batch(job);
  options.cache = of_train;
  sources->train_.emplace(splits.train, job.limit(), options, reads_ahead, fetcher);
  MG_TRY(const DataSplit split, parse_split(job.split()));
  const bool is_by_shards = split.kind == DataSplit::Kind::shards;
  sources->tells_labels_ = split.kind != DataSplit::Kind::iid && !is_by_shards;
  MG_TRY(const std::uint32_t window, shuffle_window(job));
  sources->tells_runs_ = window > 0 || is_by_shards;
  if (fetcher == nullptr) return sources;
  Hello hello;
  sources->describe(hello);
  MG_TRY(const auto shards, shards_to_come(job, sources->train(), hello, context.endpoint));
  fetcher->prefetch(shards);
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
