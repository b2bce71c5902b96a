#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/learn/best_model.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/schedule.h"

namespace mangrove::learn {

/// Everything that training needs to go on as if it had never stopped: bit-equal results, with the same workers.
/// On disk: a safetensors file (job, vectors, pending samples), the rest as its metadata, with a format version and a
/// checksum over all of it. Vectors are flat and plain, in the order of Graph::parameters() or Graph::states().
struct Checkpoint {
  std::string job;  // the job's settings, as text; must match on resume
  std::vector<float> parameters;
  std::vector<float> states;              // running statistics
  std::vector<std::vector<float>> slots;  // of the optimiser: as many as it keeps, each of the parameters' length
  std::vector<float> average;             // of the weights, see ema_update; empty: there is none
  Plateau plateau;                        // of the schedule
  BestModel best;
  std::int64_t step = 0;                    // steps done
  std::int64_t epoch = 0;                   // epochs done
  std::vector<std::uint32_t> pending;       // sample indices of this epoch still to visit, in order
  BatchStats epoch_stats;                   // of this epoch so far
  double train_seconds = 0;                 // so far
  std::vector<std::int64_t> micro_batches;  // of each worker in the order of the ranks, as its memory plan has chosen
                                            // them; 0: not known
};

/// What the vectors of a checkpoint must be like to fit a network and its optimiser.
struct CheckpointSizes {
  std::size_t parameters = 0, states = 0;  // elements
  std::size_t slots = 0;                   // vectors
  bool average = false;                    // whether there is one
};
/// errors: invalid_argument (says which vector differs).
Status check_sizes(const Checkpoint& checkpoint, const CheckpointSizes& expected);

std::string encode_checkpoint(const Checkpoint& checkpoint);
/// errors: data_loss (truncated, corrupt, no checkpoint), unimplemented (a version that this program does not read: a
/// newer one, or version 1, which had no states). A checkpoint that parses need not fit a model: see check_sizes.
Result<Checkpoint> parse_checkpoint(std::string_view bytes);

/// Atomic: see write_file_atomically.
Status save_checkpoint(const Checkpoint& checkpoint, const fs::path& path);
Result<Checkpoint> load_checkpoint(const fs::path& path);

}  // namespace mangrove::learn
