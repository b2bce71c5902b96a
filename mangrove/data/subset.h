#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// Some samples of a data set, in this order; a sample may be there more than once. Each index < dataset->size().
std::shared_ptr<const Dataset> subset(std::shared_ptr<const Dataset> dataset, std::vector<std::uint32_t> indices);

/// The first `limit` samples; all of them where limit is 0, or more than there are.
std::shared_ptr<const Dataset> first_samples(std::shared_ptr<const Dataset> dataset, std::int64_t limit);

/// As many samples of each class: `per_class`, or with 0 as many as the largest has. First those that are there, in
/// their order (of a class that has more, some of them), then samples of smaller classes again: repeats of a sample
/// have an index of their own, so that random augmentation makes different images of them. Which are left out, or
/// repeated once more than others, depends on the seed only.
std::shared_ptr<const Dataset> balanced(std::shared_ptr<const Dataset> dataset, std::size_t per_class,
                                        std::uint64_t seed);

/// Samples carved from a training split that comes without the others. All in ascending order.
struct CarvedSplits {
  std::vector<std::uint32_t> train, validation, test;
};
/// Takes a share of every class for each split, so that small classes are in all of them; which samples depends on the
/// seed only. Shares are below 1 in sum; sizes are right to one sample per class.
CarvedSplits carve(const Dataset& dataset, double validation_share, double test_share, std::uint64_t seed);

}  // namespace mangrove::data
