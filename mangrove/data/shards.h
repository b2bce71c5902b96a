#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/spec.h"

namespace mangrove::data {

/// The shards in a folder, of every split, by name. errors: not_found (no such folder, no shards).
Result<std::vector<fs::path>> shards_in(const fs::path& folder);

/// Whether the folder holds shards: files that are called NAME.shard.
bool has_shards(const fs::path& folder);

/// shards:PATH: a folder of shards (see shard_file.h) as write_shards() leaves it: train-00000.shard, train-00001.shard
/// ..., and so for validation and test. Samples are read, and unpacked, when they are asked for. Null where there are
/// shards, but none of this split.
/// errors: not_found (no such folder, no shards); data_loss (a shard that is corrupt, missing, or of other data than
/// the rest; names it); those of ShardFile::open.
Result<std::shared_ptr<const Dataset>> open_shards(const DatasetSpec& spec, Split split, const DataFolder& data);

struct PackOptions {
  Bytes shard_bytes = 8'000'000;  // most of a file, unless one sample has more
  bool compress = false;          // with zstd, each sample by itself
  std::string title = {};         // of the data set, where it does not have one itself
};
struct PackedSplit {
  std::uint32_t samples = 0, shards = 0;
  Bytes bytes = 0;
};
/// Writes the samples of a split in their order, so that open_shards() reads the same, bit for bit. `progress` is told
/// the samples done. The folder is made if need be. A shard appears whole or not at all; without the last one, no other
/// is read. errors: already_exists (shards of this split), invalid_argument (a sample has too many values, or a split
/// none), those of Dataset::read and of writing, cancelled (`stop`).
Result<PackedSplit> write_shards(const Dataset& dataset, Split split, const fs::path& folder,
                                 const PackOptions& options, const std::function<void(std::uint32_t)>& progress,
                                 const std::stop_token& stop);

}  // namespace mangrove::data
