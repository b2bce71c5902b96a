#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/data/file_bytes.h"
#include "mangrove/data/shard_folder.h"

namespace mangrove::data {

/// A packed data set of which this device has some shards, while others come. They are kept for the next time, in a
/// folder that is named after what is in the data set. threads: one at a time.
class ShardCache {
 public:
  /// own: a folder that may have some of the shards already; nothing is written to it. root: of the caches of all data
  /// sets. Where shards are missing, a folder partial-... beside those of the cache has, until the object goes, files
  /// of their size with nothing but their heads; such a file becomes the shard and moves to the cache when all of it
  /// has come. errors: data_loss (outlines that make no sense), those of writing.
  static Result<ShardCache> open(std::vector<ShardOutline> outlines, const fs::path& own, const fs::path& root);

  const std::vector<ShardOutline>& outlines() const { return outlines_; }
  /// For open_shards(). A sample of a shard that has not come fails its checksum.
  const fs::path& folder() const { return folder_; }
  bool has(std::uint32_t shard) const { return shard < files_.size() && files_[shard].has_value(); }

  /// As read_part(). errors: besides, not_found (it has not come).
  Result<std::string> read(std::uint32_t shard, Bytes offset, Bytes count) const;
  /// A part of a shard has come. REQUIRES: it lies within the shard, which has not come yet. errors: those of writing;
  /// names the file.
  Status write(std::uint32_t shard, Bytes offset, std::string_view part);
  /// All parts of it have come. errors: data_loss (it does not have this SHA-256: its parts are to be written again);
  /// those of writing.
  Status finish(std::uint32_t shard, const std::string& sha256);

 private:
  struct PartialFolder;
  ShardCache() = default;
  Status make_partial_folder();
  Status add_missing(const ShardOutline& outline) const;

  std::vector<ShardOutline> outlines_;
  std::vector<std::optional<FileBytes>> files_;  // nothing: has not come
  fs::path cache_, folder_;
  std::shared_ptr<PartialFolder> partial_;  // null: nothing was missing
};

}  // namespace mangrove::data
