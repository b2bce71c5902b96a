#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// The label of a row that pads a batch: the loss ignores it.
constexpr std::int32_t kPadding = -1;

class Augmentation;

/// `count` samples; rows after them are zero, with label kPadding.
struct Batch {
  Tensor images;                     // [N, C, H, W] or [N, C, L] f32
  std::vector<std::int32_t> labels;  // N
  std::int64_t count = 0;
  // Where samples are mixed with others (mixup), N each, else empty: the target of a row is mix_weight of its label and
  // 1 - mix_weight of its mix label.
  std::vector<std::int32_t> mix_labels = {};
  std::vector<float> mix_weight = {};
};

/// The order in which an epoch visits the samples: a permutation of 0 .. n-1 that depends only on the arguments.
std::vector<std::uint32_t> epoch_order(std::uint32_t n, std::uint64_t seed, std::uint64_t epoch);
/// The same for samples that lie in runs (see Dataset::run_ends), so that files are read from one end to the other:
/// runs in random order, and within that each `window` samples in random order. The larger the window, the better the
/// mix.
std::vector<std::uint32_t> run_order(std::span<const std::uint32_t> run_ends, std::uint32_t window, std::uint64_t seed,
                                     std::uint64_t epoch);

/// Part `index` of `parts` nearly equal, contiguous parts of n samples (sizes differ by at most one): [first, last).
std::pair<std::uint32_t, std::uint32_t> shard(std::uint32_t n, std::uint32_t index, std::uint32_t parts);

struct LoaderOptions {
  std::int64_t batch = 64;  // rows of every batch, N
  int batches_ahead = 2;    // at least 1; prepared before they are asked for; more hides slow decoding, at one batch of
                            // memory each
  int workers = 1;          // threads that decode and augment; more for JPEG on several cores
  Bytes cache = 0;          // memory for samples that are decoded, see cached()
  std::shared_ptr<const Augmentation> augmentation = {};  // null: samples as they are
  bool training = false;      // with the random transformations too, not only those that every sample needs
  std::uint64_t seed = 1;     // of the random ones
  Seconds report_after = 60;  // a batch that keeps next() waiting so long is told in the log, with its samples' names
};

/// Prepares batches on threads of its own, in the order in which they were requested. What is in a batch depends on
/// (seed, epoch, indices) only, not on the number of threads; what is in a row on (seed, epoch, its index).
/// threads: request() and next() from any thread, one caller of next() at a time.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~Loader();

  /// Asks for the batch of these samples, at most options.batch of them. Returns at once; any number may be waiting, of
  /// the next epoch too, so that its first batch is prepared while the last of this one is worked on.
  /// What is wrong with a request is told by the next() that takes its batch.
  void request(std::vector<std::uint32_t> indices, std::uint64_t epoch = 0);
  /// The oldest batch requested and not yet taken. Waits as long as reading its samples takes: a slow card is no
  /// failure, and what depends on this process has a deadline for it. errors: failed_precondition (none requested); of
  /// that batch only: invalid_argument (more samples than rows), out_of_range (no such sample), those of Dataset::read
  /// for the first of its samples that has any.
  Result<Batch> next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mangrove::data
