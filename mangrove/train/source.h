#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/data/loader.h"
#include "mangrove/net/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// One split of a worker's data set, with its loader and the batch that it prepares ahead. threads: one at a time.
class Source {
 public:
  using Samples = std::vector<std::uint32_t>;

  /// limit: as of data::first_samples. reads_ahead: else prepare() does nothing.
  Source(std::shared_ptr<const data::Dataset> dataset, std::int64_t limit, const data::LoaderOptions& options,
         bool reads_ahead);

  const data::Dataset& dataset() const { return *dataset_; }
  std::int64_t size() const { return dataset_->size(); }
  /// There are some, and all of them are samples of this split.
  bool has(const Samples& samples) const;

  /// Prepares these samples as they are in this epoch, in place of what was prepared before and not taken.
  Status prepare(const Samples& samples, std::int64_t epoch);
  /// errors: those of Loader::next.
  Result<data::Batch> take(const Samples& samples, std::int64_t epoch);

 private:
  Status request(const Samples& samples, std::int64_t epoch);

  std::shared_ptr<const data::Dataset> dataset_;
  data::Loader loader_;
  const bool reads_ahead_;
  std::optional<Samples> ahead_;
  std::int64_t ahead_epoch_ = 0;
};

/// Memory that a worker has for decoded training samples: the job's sample_cache, and of the job's `memory` at most an
/// eighth; no more than all of them take; none where nothing is decoded.
Bytes sample_cache(const TrainJob& job, const data::Dataset& train);

/// The splits of a job's data set, as a worker reads them. threads: one at a time.
class Sources {
 public:
  using Dataset = std::shared_ptr<const data::Dataset>;
  struct Splits {
    Dataset train, validation, test;  // validation: null where the data set has none
  };
  /// Of the job's data set. errors: those of data::open_dataset.
  static Result<Splits> open(const TrainJob& job, const fs::path& data_folder);
  /// Where devices share them, nothing is read ahead: another one's samples come between.
  /// errors: those of data::Augmentation::create.
  static Result<std::unique_ptr<Sources>> create(const TrainJob& job, const Splits& splits,
                                                 const net::RoleContext& context);

  Source& train() { return *train_; }
  /// The one that the samples of this work are of.
  Source& of(const Work& work);
  /// Tells what there is.
  void describe(Hello& hello) const;

 private:
  std::optional<Source> train_, validation_, test_;  // validation: where the data set has one
  std::string augmentation_;                         // see Hello
  bool tells_labels_ = false, tells_runs_ = false;
};

}  // namespace mangrove::train
