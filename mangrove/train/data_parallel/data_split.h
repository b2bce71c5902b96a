#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::train {

/// Which worker owns which samples, in jobs where every worker has samples of its own.
struct DataSplit {
  enum class Kind {
    iid,        // samples have no owner: every epoch is shuffled and dealt out anew
    dirichlet,  // a Dirichlet distribution gives each worker's share of each class: the lower alpha, the more uneven
    by_label,   // samples are sorted by class and cut; each worker has `labels` pieces, of about as many classes
    by_size,    // samples are drawn at random, in the proportions of `sizes`
    shards,     // each worker has whole runs of the data set (see data::Dataset::run_ends), of about equal size
  };
  Kind kind = Kind::iid;
  double alpha = 0;
  std::int64_t labels = 0;
  std::vector<double> sizes = {};  // one for each worker
};

/// Reads "iid" (also ""), "dirichlet(0.3)", "by_label(2)", "by_size(1,1,4)" or "shards". errors: invalid_argument
/// (another text, numbers that are not above 0).
Result<DataSplit> parse_split(const std::string& text);
/// text: the text that the split was parsed from. errors: invalid_argument (the split has sizes for another number of
/// workers).
Status check_workers(const DataSplit& split, const std::string& text, std::size_t workers);

/// The owner of each sample: a worker, counted from 0. labels: the class of each sample. The result depends on the
/// arguments only, and a worker may own no sample. Not for iid and shards.
/// source  Hsu, Qi & Brown, Measuring the effects of non-identical data distribution for federated visual
///         classification, 2019 (dirichlet); McMahan et al., Communication-efficient learning of deep networks from
///         decentralized data, AISTATS 2017 (by_label).
std::vector<std::size_t> owners(const DataSplit& split, std::span<const std::int32_t> labels, std::size_t workers,
                                std::uint64_t seed);
/// The same for `shards`. Each run of the data goes to the worker that has the fewest samples so far.
std::vector<std::size_t> shard_owners(std::span<const std::uint32_t> run_ends, std::size_t workers);

}  // namespace mangrove::train
