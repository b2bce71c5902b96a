#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/learn/loss.h"

namespace mangrove::learn {

/// Everything that training needs to go on as if it had never stopped: bit-equal results, with the same workers.
/// On disk: a safetensors file (job, parameters, momentum, pending samples), the rest as its metadata, with a format
/// version and a checksum over all of it.
struct Checkpoint {
  std::string job;                // the job's settings, as text; must match on resume
  std::vector<float> parameters;  // flat, plain, in the order of Graph::parameters()
  std::vector<float> momentum;
  std::int64_t step = 0;               // steps done
  std::int64_t epoch = 0;              // epochs done
  std::vector<std::uint32_t> pending;  // sample indices of this epoch still to visit, in order
  BatchStats epoch_stats;              // of this epoch so far
  double train_seconds = 0;            // so far
};

std::string encode_checkpoint(const Checkpoint& checkpoint);
/// errors: data_loss (truncated, corrupt, no checkpoint), unimplemented (newer version). A checkpoint that parses need
/// not fit a model: compare the lengths of its vectors before use.
Result<Checkpoint> parse_checkpoint(std::string_view bytes);

/// Atomic: see write_file_atomically.
Status save_checkpoint(const Checkpoint& checkpoint, const fs::path& path);
Result<Checkpoint> load_checkpoint(const fs::path& path);

}  // namespace mangrove::learn
