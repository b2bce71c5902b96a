#include "mangrove/data/shard_folder.h"

#include <algorithm>

#include "mangrove/data/sha256.h"
#include "mangrove/data/shard_file.h"
#include "mangrove/data/shards.h"

namespace mangrove::data {

Result<std::string> read_part(const FileBytes& file, Bytes offset, Bytes count) {
  const auto size = static_cast<Bytes>(file.size());
  if (offset < 0 || offset >= size || count <= 0)
    return make_error(Code::out_of_range,
                      "byte " + std::to_string(offset) + " of a file of " + std::to_string(size) + " bytes");
  return file.part(static_cast<std::size_t>(offset), static_cast<std::size_t>(std::min(count, size - offset)));
}

Result<ShardFolder> ShardFolder::open(const fs::path& folder, const FileOpener& opener) {
  MG_TRY(const std::vector<fs::path> paths, shards_in(folder));
  ShardFolder shards;
  for (const fs::path& path : paths) {
    MG_TRY(const ShardFile file, ShardFile::open(path, opener));
    MG_TRY(std::string head, file.head());
    shards.outlines_.push_back({path.filename().string(), file.size(), std::move(head)});
    shards.files_.push_back(file.bytes());
  }
  shards.sums_.resize(shards.files_.size());
  return shards;
}

Result<std::string> ShardFolder::read(std::uint32_t shard, Bytes offset, Bytes count) const {
  if (shard >= files_.size()) return make_error(Code::not_found, "there is no shard " + std::to_string(shard));
  return read_part(files_[shard], offset, count);
}

Result<std::string> ShardFolder::sha256(std::uint32_t shard) {
  std::string& sum = sums_[shard];
  if (sum.empty()) {
    MG_TRY(const std::string content, read(shard, 0, outlines_[shard].size));
    sum = data::sha256(content);
  }
  return sum;
}

}  // namespace mangrove::data
