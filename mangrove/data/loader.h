#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// The label of a row that pads a batch: the loss ignores it.
constexpr std::int32_t kPadding = -1;

/// `count` samples; rows after them are zero, with label kPadding.
struct Batch {
  Tensor images;                     // [N, C, H, W] f32
  std::vector<std::int32_t> labels;  // N
  std::int64_t count = 0;
};

/// The order in which an epoch visits the samples: a permutation of 0 .. n-1 that depends only on the arguments.
std::vector<std::uint32_t> epoch_order(std::uint32_t n, std::uint64_t seed, std::uint64_t epoch);

/// Part `index` of `parts` nearly equal, contiguous parts of n samples (sizes differ by at most one): [first, last).
std::pair<std::uint32_t, std::uint32_t> shard(std::uint32_t n, std::uint32_t index, std::uint32_t parts);

struct LoaderOptions {
  std::int64_t batch = 64;  // rows of every batch, N
  int batches_ahead =
      2;  // at least 1; prepared before they are asked for; more hides slow decoding, at one batch of memory each
};

/// Prepares batches on a thread of its own, in the order in which they were requested.
/// threads: request() and next() from any thread, one caller of next() at a time.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~Loader();

  /// Asks for the batch of these samples, at most options.batch of them. Returns at once; any number may be waiting.
  /// What is wrong with a request is told by the next() that takes its batch.
  void request(std::vector<std::uint32_t> indices);
  /// The oldest batch requested and not yet taken. errors: deadline_exceeded (it is still the next one);
  /// failed_precondition (none requested); of that batch only: invalid_argument (more samples than rows), out_of_range
  /// (no such sample), those of Dataset::read.
  Result<Batch> next(Seconds timeout = 60);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::data
