#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/data/loader.h"
#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// One split of a worker's data set, with its loader and the batch that the loader prepares ahead. threads: one at a
/// time.
class Source {
 public:
  using Samples = std::vector<std::uint32_t>;

  /// limit: see data::first_samples. reads_ahead: if false, prepare() does nothing. fetcher: gets the shards with the
  /// samples; null: all shards are there.
  Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t limit, const data::LoaderOptions& options,
         bool reads_ahead, ShardFetcher* fetcher);

  const data::Dataset& dataset() const { return *dataset_; }
  std::int64_t size() const { return dataset_->size(); }
  /// Whether there is at least one sample, and all are samples of this split.
  bool has(const Samples& samples) const;

  /// The shards that these samples need, in the order in which they are needed first. REQUIRES: there is a fetcher.
  ShardFetcher::Shards shards_of(const Samples& samples) const;
  /// Waits until these samples of the work of this round are there. Returns false if other work has come, which is then
  /// in `interruption`. errors: those of ShardFetcher::wait.
  Result<bool> wait_for(const Samples& samples, std::uint64_t round, std::optional<net::Message>& interruption) const;

  /// Prepares these samples, as they are in this epoch. They replace samples that were prepared before and not taken.
  /// If they are not there yet, take() loads them.
  Status prepare(const Samples& samples, std::int64_t epoch);
  /// REQUIRES wait_for(). errors: those of Loader::next.
  Result<data::Batch> take(const Samples& samples, std::int64_t epoch);

 private:
  Status request(const Samples& samples, std::int64_t epoch);

  std::shared_ptr<const data::Dataset> dataset_;
  data::Loader loader_;
  const bool reads_ahead_;
  ShardFetcher* const fetcher_;
  std::vector<std::uint32_t> shards_;        // shard of each sample, if there is a fetcher
  std::optional<ShardFetcher::Shards> all_;  // set if any sample may be mixed with any other
  std::optional<Samples> ahead_;
  std::int64_t ahead_epoch_ = 0;
};

/// The memory that a worker's process may take at most: the job's `memory`, as far as the device has it; without, what
/// is usual on the device. 0: not limited.
Bytes most_memory(const TrainJob& job, const job::Device& device);
/// Memory that a worker may use for decoded samples: the job's sample_cache, but at most an eighth of most_memory().
Bytes sample_cache(const TrainJob& job, const job::Device& device);
/// The part of this cache that the samples of a data set get: at most what all of its samples take, and none if its
/// samples need no decoding.
Bytes share_of_cache(Bytes cache, const data::Dataset& dataset);

/// The splits of a job's data set, as a worker reads them. threads: one at a time.
class Sources {
 public:
  using Dataset = std::shared_ptr<const data::Dataset>;
  struct Splits {
    Dataset train, validation, test;  // validation: null if the data set has none
  };
  /// Opens the job's data set. fetcher: null if the data is in the data folder. errors: those of data::open_dataset and
  /// ShardFetcher::open.
  static Result<Splits> open(const TrainJob& job, const data::DataFolder& data_folder, ShardFetcher* fetcher = nullptr);
  /// For a job with a frozen part, samples are the outputs of that part. Decoded samples are kept in memory: those for
  /// training first, then those for validation. Nothing is read ahead where devices share the samples, because samples
  /// of another device come in between. errors: those of data::Augmentation::create and make_frozen_part;
  /// invalid_argument (a recipe that mixes samples, with a frozen part).
  static Result<std::unique_ptr<Sources>> create(const TrainJob& job, Splits splits, const job::RoleContext& context,
                                                 ShardFetcher* fetcher = nullptr);

  Source& train() { return *train_; }
  /// The split that the samples of this work belong to.
  Source& of(const Work& work);
  Shape sample_shape() const { return train_->dataset().sample_shape(); }
  /// Memory that decoded samples need once all of them are cached.
  Bytes cached() const { return cached_; }
  /// Writes a description of the data.
  void describe(Hello& hello) const;

 private:
  std::optional<Source> train_, validation_, test_;  // validation: only if the data set has one
  std::string augmentation_;                         // see Hello
  Bytes cached_ = 0;
  bool tells_labels_ = false, tells_runs_ = false;
};

}  // namespace mangrove::train
