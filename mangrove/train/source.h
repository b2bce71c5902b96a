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

/// One split of a worker's data set, with its loader and the batch that it prepares ahead. threads: one at a time.
class Source {
 public:
  using Samples = std::vector<std::uint32_t>;

  /// limit: as of data::first_samples. reads_ahead: else prepare() does nothing. fetcher: gets the shards that the
  /// samples lie in; null: all are there.
  Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t limit, const data::LoaderOptions& options,
         bool reads_ahead, ShardFetcher* fetcher);

  const data::Dataset& dataset() const { return *dataset_; }
  std::int64_t size() const { return dataset_->size(); }
  /// There are some, and all of them are samples of this split.
  bool has(const Samples& samples) const;

  /// Those that they need, in the order in which they come up first. REQUIRES: there is a fetcher.
  ShardFetcher::Shards shards_of(const Samples& samples) const;
  /// Waits until these samples, of work of this round, are there. False: other work has come, and is in `interruption`.
  /// errors: those of ShardFetcher::wait.
  Result<bool> wait_for(const Samples& samples, std::uint64_t round, std::optional<net::Message>& interruption) const;

  /// Prepares these samples as they are in this epoch, in place of what was prepared before and not taken; those that
  /// are not there yet are left to take().
  Status prepare(const Samples& samples, std::int64_t epoch);
  /// REQUIRES wait_for(). errors: those of Loader::next.
  Result<data::Batch> take(const Samples& samples, std::int64_t epoch);

 private:
  Status request(const Samples& samples, std::int64_t epoch);

  std::shared_ptr<const data::Dataset> dataset_;
  data::Loader loader_;
  const bool reads_ahead_;
  ShardFetcher* const fetcher_;
  std::vector<std::uint32_t> shards_;        // of the samples, where there is a fetcher
  std::optional<ShardFetcher::Shards> all_;  // where any sample may be mixed with any other
  std::optional<Samples> ahead_;
  std::int64_t ahead_epoch_ = 0;
};

/// Memory that a worker has for decoded samples: the job's sample_cache, and of the job's `memory` at most an eighth.
Bytes sample_cache(const TrainJob& job);
/// Of so much, what is for samples of this data set: no more than all of them take; none where nothing is decoded.
Bytes share_of_cache(Bytes cache, const data::Dataset& dataset);

/// The splits of a job's data set, as a worker reads them. threads: one at a time.
class Sources {
 public:
  using Dataset = std::shared_ptr<const data::Dataset>;
  struct Splits {
    Dataset train, validation, test;  // validation: null where the data set has none
  };
  /// Of the job's data set. fetcher: null where it is in the data folder. errors: those of data::open_dataset and
  /// ShardFetcher::open.
  static Result<Splits> open(const TrainJob& job, const fs::path& data_folder, ShardFetcher* fetcher = nullptr);
  /// Of a job with a frozen part, these are its features. Decoded samples are kept in memory, those for training first,
  /// then those for validation. Where devices share them, nothing is read ahead: another one's samples come between.
  /// errors: those of data::Augmentation::create and make_frozen_part; invalid_argument (a recipe that mixes samples,
  /// with a frozen part).
  static Result<std::unique_ptr<Sources>> create(const TrainJob& job, Splits splits, const job::RoleContext& context,
                                                 ShardFetcher* fetcher = nullptr);

  Source& train() { return *train_; }
  /// The one that the samples of this work are of.
  Source& of(const Work& work);
  Shape sample_shape() const { return train_->dataset().sample_shape(); }
  /// Memory that decoded samples take up in the end.
  Bytes cached() const { return cached_; }
  /// Tells what there is.
  void describe(Hello& hello) const;

 private:
  std::optional<Source> train_, validation_, test_;  // validation: where the data set has one
  std::string augmentation_;                         // see Hello
  Bytes cached_ = 0;
  bool tells_labels_ = false, tells_runs_ = false;
};

}  // namespace mangrove::train
