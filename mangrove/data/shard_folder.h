#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/units.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

/// A shard as one device describes it to another.
struct ShardOutline {
  std::string name;  // of its file
  Bytes size = 0;    // of its file
  std::string head;  // see ShardFile::head
};

/// At most `count` bytes of a file from `offset` on. errors: out_of_range (there are none), data_loss (it cannot be
/// read any more).
Result<std::string> read_part(const FileBytes& file, Bytes offset, Bytes count);

/// All shards in a folder, of every split, for other devices to read. threads: one at a time.
class ShardFolder {
 public:
  /// errors: not_found (no shards in it), those of ShardFile::open.
  static Result<ShardFolder> open(const fs::path& folder, const FileOpener& opener = &FileBytes::open);

  const std::vector<ShardOutline>& outlines() const { return outlines_; }
  /// As read_part(). errors: besides, not_found (no such shard).
  Result<std::string> read(std::uint32_t shard, Bytes offset, Bytes count) const;
  /// Of the whole file, which is read for it the first time. REQUIRES: shard < outlines().size().
  Result<std::string> sha256(std::uint32_t shard);

 private:
  ShardFolder() = default;
  std::vector<ShardOutline> outlines_;
  std::vector<FileBytes> files_;
  std::vector<std::string> sums_;  // "": not known yet
};

}  // namespace mangrove::data
