#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mangrove/base/random.h"
#include "mangrove/data/loader.h"

namespace mangrove::data {

/// Rows that are prepared together. What does not depend on it: the content of a row.
constexpr std::size_t kRowBlock = 16;

/// What is random about a sample in an epoch.
Random random_of_sample(std::uint64_t seed, std::uint64_t epoch, std::uint32_t index);

/// A batch for these samples without its content. errors: invalid_argument (more samples than rows), out_of_range (no
/// such sample).
Result<Batch> empty_batch(const Dataset& dataset, const LoaderOptions& options, std::span<const std::uint32_t> indices);

/// Why a row could not be read.
struct RowProblem {
  std::size_t row;
  Error error;
};
/// Fills rows [first, last) of the batch, at most kRowBlock of them: reads the samples, transforms and mixes them.
/// threads: any, on different rows.
std::optional<RowProblem> fill_rows(const Dataset& dataset, const LoaderOptions& options,
                                    std::span<const std::uint32_t> indices, std::uint64_t epoch, std::size_t first,
                                    std::size_t last, Batch& batch);

}  // namespace mangrove::data
