#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::train {

/// Which samples are whose, where every worker has samples of its own.
struct DataSplit {
  enum class Kind {
    iid,        // nobody's: every epoch is shuffled and dealt out anew
    dirichlet,  // of each class, workers have shares drawn from a Dirichlet distribution: the lower alpha, the more
                // uneven
    by_label,   // sorted by class and cut; each worker has `labels` pieces: samples of about as many classes
    by_size,    // drawn at random, in these proportions
    shards,     // whole runs of the data set (see data::Dataset::run_ends), about as many samples to each worker
  };
  Kind kind = Kind::iid;
  double alpha = 0;
  std::int64_t labels = 0;
  std::vector<double> sizes = {};  // one for each worker
};

/// "iid" (also ""), "dirichlet(0.3)", "by_label(2)", "by_size(1,1,4)", "shards". errors: invalid_argument (another
/// text, numbers that are not above 0).
Result<DataSplit> parse_split(const std::string& text);
/// errors: invalid_argument: its sizes are of another number of workers; text: what it was parsed from.
Status check_workers(const DataSplit& split, const std::string& text, std::size_t workers);

/// The worker, from 0 on, that has each sample; labels: of all samples, from 0 on. Depends on the arguments only. A
/// worker may have none. Not for iid and shards.
/// source  Hsu, Qi & Brown, Measuring the effects of non-identical data distribution for federated visual
///         classification, 2019 (dirichlet); McMahan et al., Communication-efficient learning of deep networks from
///         decentralized data, AISTATS 2017 (by_label).
std::vector<std::size_t> owners(const DataSplit& split, std::span<const std::int32_t> labels, std::size_t workers,
                                std::uint64_t seed);
/// The same for shards, of data in these runs: each in turn goes to the worker that has the fewest samples.
std::vector<std::size_t> shard_owners(std::span<const std::uint32_t> run_ends, std::size_t workers);

}  // namespace mangrove::train
