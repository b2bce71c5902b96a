#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

// A shard: consecutive samples of one split of a data set, decoded, in a file that is read from its beginning to its
// end. All numbers are little-endian:
//
//   8  the magic number "MGSHARD\n"
//   4  version: 1
//   4  H, bytes of the header
//   4  CRC-32 of header and index
//   H  the header, a JSON object with the members of ShardHeader
//  12  for each sample: bytes of it in this file, CRC-32 of these bytes, label
//      the samples, one behind the other, as pack_sample() gives them; one that has neither as many bytes as values nor
//      four times as many is the same in a zstd frame

/// What a shard says of itself, and of the data set that it is of.
struct ShardHeader {
  std::string split;          // "train", "validation", "test"
  std::uint32_t first = 0;    // of its samples, counted in the split
  std::uint32_t samples = 0;  // at least one
  bool last = false;          // no shard of the split follows
  Shape sample_shape;         // one to four dimensions, kMostShardValues elements
  std::vector<std::string> classes = {};
  CoarseLabels coarse = {};  // without names: there is no hierarchy
  std::string title = {};    // see Dataset::title

  /// Whether both are parts of one split of one data set.
  bool same_data(const ShardHeader& other) const;
};
constexpr std::int64_t kMostShardValues = std::int64_t{1} << 26;  // of a sample

/// Makes a shard in memory.
class ShardBuilder {
 public:
  /// compress: samples are kept in a zstd frame where that is smaller.
  ShardBuilder(std::size_t values, bool compress) : values_(values), compress_(compress) {}

  /// The sample as it would be kept.
  std::string kept(std::span<const float> sample) const;
  void add(const std::string& kept, std::int32_t label);
  std::uint32_t samples() const { return static_cast<std::uint32_t>(index_.size() / kIndexBytes); }
  /// Of samples and index so far.
  std::size_t bytes() const { return index_.size() + content_.size(); }
  /// The file, where `header` tells of its samples.
  std::string file(const ShardHeader& header) const;

  static constexpr std::size_t kIndexBytes = 12;  // of a sample

 private:
  std::size_t values_;
  bool compress_;
  std::string index_, content_;
};

/// A shard, read sample by sample. threads: any thread may read.
class ShardFile {
 public:
  /// Reads header and index. errors: not_found, permission_denied; unimplemented (a later version); data_loss (no
  /// shard, truncated, corrupt, too long, or one that makes no sense); messages name the file.
  static Result<ShardFile> open(const fs::path& path, const FileOpener& opener = &FileBytes::open);

  const std::string& path() const { return path_; }
  /// Of the whole file.
  const FileBytes& bytes() const { return file_; }
  Bytes size() const { return static_cast<Bytes>(file_.size()); }
  /// All bytes before the first sample. Two shards with the same head and size have the same samples, as far as
  /// checksums tell.
  /// errors: data_loss (the file cannot be read any more).
  Result<std::string> head() const;
  const ShardHeader& header() const { return header_; }
  std::int32_t label(std::uint32_t index) const { return entries_[index].label; }
  /// 0 <= index < header().samples. errors: data_loss (its checksum or its compression is wrong, or the file cannot be
  /// read any more); names file and sample.
  Status read(std::uint32_t index, std::span<float> out) const;
  std::string name(std::uint32_t index) const { return path_ + ": sample " + std::to_string(index); }
  /// Whether samples are compressed.
  bool is_compressed() const { return compressed_; }

 private:
  struct Entry {
    std::uint64_t offset;
    std::uint32_t bytes, checksum;
    std::int32_t label;
  };
  ShardFile() = default;
  Status parse();
  Status parse_index(std::span<const std::uint8_t> index, std::uint64_t begin);

  std::string path_;
  FileBytes file_;
  ShardHeader header_;
  std::vector<Entry> entries_;
  bool compressed_ = false;
};

}  // namespace mangrove::data
