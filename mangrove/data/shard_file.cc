#include "mangrove/data/shard_file.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "mangrove/base/check.h"
#include "mangrove/data/sample_bytes.h"
#include "mangrove/data/shard_header.h"

namespace mangrove::data {
namespace {

constexpr std::string_view kMagic = "MGSHARD\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPreamble = 20;  // bytes before the header
constexpr int kLevel = 9;  // of zstd: above it, samples hardly get smaller; how fast they unpack is the same

std::uint32_t crc32_of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
}

void append_number(std::string& out, std::uint32_t number) {
  for (const int shift : {0, 8, 16, 24}) out += static_cast<char>(number >> shift & 0xff);
}

std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  return bytes[at] | std::uint32_t{bytes[at + 1]} << 8 | std::uint32_t{bytes[at + 2]} << 16 |
         std::uint32_t{bytes[at + 3]} << 24;
}

Error corrupt_shard(const std::string& what) {
  return make_error(Code::data_loss, what);
}

bool is_plain(std::size_t bytes, std::size_t values) {
  return bytes == values || bytes == values * sizeof(float);
}

std::string compressed(const std::string& packed) {
  std::string frame(ZSTD_compressBound(packed.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), packed.data(), packed.size(), kLevel);
  MG_CHECK_MSG(!ZSTD_isError(size), ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

/// The packed sample in a frame. What the frame says of its size is believed only where a sample has that size.
Result<std::vector<std::uint8_t>> decompressed(std::span<const std::uint8_t> frame, std::size_t values) {
  // a context is costly to make
  thread_local const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) return make_error(Code::resource_exhausted, "no memory to decompress with");
  const unsigned long long told = ZSTD_getFrameContentSize(frame.data(), frame.size());
  const auto size = static_cast<std::size_t>(told);
  if (told == ZSTD_CONTENTSIZE_ERROR || told == ZSTD_CONTENTSIZE_UNKNOWN || size != told || !is_plain(size, values))
    return corrupt_shard("it is not a zstd frame of a sample of " + std::to_string(values) + " values");
  std::vector<std::uint8_t> packed(size);
  const std::size_t found =
      ZSTD_decompressDCtx(context.get(), packed.data(), packed.size(), frame.data(), frame.size());
  if (ZSTD_isError(found)) return corrupt_shard(std::string("zstd: ") + ZSTD_getErrorName(found));
  if (found != size) return corrupt_shard("its zstd frame is shorter than it says");
  return packed;
}

}  // namespace

bool ShardHeader::same_data(const ShardHeader& other) const {
  return split == other.split && sample_shape == other.sample_shape && classes == other.classes &&
         coarse.names == other.coarse.names && coarse.of_class == other.coarse.of_class && title == other.title;
}

std::string ShardBuilder::kept(std::span<const float> sample) const {
  std::string packed = pack_sample(sample);
  if (!compress_) return packed;
  std::string frame = compressed(packed);
  return frame.size() < packed.size() && !is_plain(frame.size(), values_) ? frame : packed;
}

void ShardBuilder::add(const std::string& kept, std::int32_t label) {
  append_number(index_, static_cast<std::uint32_t>(kept.size()));
  append_number(index_, crc32_of(bytes_of(kept)));
  append_number(index_, static_cast<std::uint32_t>(label));
  content_ += kept;
}

std::string ShardBuilder::file(const ShardHeader& header) const {
  MG_CHECK(header.samples == samples());
  const std::string text = to_json(header);
  std::string file(kMagic);
  append_number(file, kVersion);
  append_number(file, static_cast<std::uint32_t>(text.size()));
  append_number(file, crc32_of(bytes_of(text + index_)));
  return file + text + index_ + content_;
}

Result<ShardFile> ShardFile::open(const fs::path& path, const FileOpener& opener) {
  ShardFile shard;
  shard.path_ = path.string();
  MG_TRY(shard.file_, opener(path));
  MG_RETURN_IF_ERROR(shard.parse().context(path.string()));
  return shard;
}

Status ShardFile::parse() {
  MG_TRY(const std::string preamble, file_.part(0, std::min(file_.size(), kPreamble)));
  if (preamble.size() < kPreamble || !preamble.starts_with(kMagic))
    return corrupt_shard("not a shard: its first bytes are others");
  if (const std::uint32_t version = number_at(bytes_of(preamble), 8); version != kVersion)
    return make_error(Code::unimplemented,
                      "a shard of version " + std::to_string(version) + ": expected " + std::to_string(kVersion));
  const std::size_t header_bytes = number_at(bytes_of(preamble), 12), rest = file_.size() - kPreamble;
  if (header_bytes > rest)
    return corrupt_shard("truncated: a header of " + std::to_string(header_bytes) + " bytes expected, " +
                         std::to_string(rest) + " found");
  MG_TRY(const std::string header, file_.part(kPreamble, header_bytes));
  MG_TRY(header_, parse_shard_header(header));
  const std::size_t index_bytes = std::size_t{header_.samples} * ShardBuilder::kIndexBytes;
  if (index_bytes > rest - header_bytes)
    return corrupt_shard("truncated: an index of " + std::to_string(header_.samples) + " samples expected, " +
                         std::to_string(rest - header_bytes) + " bytes found");
  MG_TRY(const std::string index, file_.part(kPreamble + header_bytes, index_bytes));
  if (crc32_of(bytes_of(header + index)) != number_at(bytes_of(preamble), 16))
    return corrupt_shard("header and index do not have their checksum");
  return parse_index(bytes_of(index), kPreamble + header_bytes + index_bytes);
}

/// begin: of the samples in the file.
Status ShardFile::parse_index(std::span<const std::uint8_t> index, std::uint64_t begin) {
  const auto values = static_cast<std::size_t>(header_.sample_shape.elements());
  std::uint64_t offset = begin;
  for (std::size_t at = 0; at < index.size(); at += ShardBuilder::kIndexBytes) {
    const std::uint32_t bytes = number_at(index, at), label = number_at(index, at + 8);
    const std::string sample = "sample " + std::to_string(entries_.size());
    if (bytes == 0 || bytes > values * sizeof(float))
      return corrupt_shard(sample + " has " + std::to_string(bytes) + " bytes: expected 1 to " +
                           std::to_string(values * sizeof(float)));
    if (label >= header_.classes.size())
      return corrupt_shard(sample + " has label " + std::to_string(label) + ": expected one of " +
                           std::to_string(header_.classes.size()) + " classes");
    entries_.push_back({offset, bytes, number_at(index, at + 4), static_cast<std::int32_t>(label)});
    compressed_ = compressed_ || !is_plain(bytes, values);
    offset += bytes;
  }
  if (offset == file_.size()) return {};
  return corrupt_shard((offset > file_.size() ? "truncated: " : "too long: ") + std::to_string(file_.size()) +
                       " bytes found, " + std::to_string(offset) + " expected");
}

Result<std::string> ShardFile::head() const {
  return file_.part(0, static_cast<std::size_t>(entries_.front().offset));
}

Status ShardFile::read(std::uint32_t index, std::span<float> out) const {
  const Entry& entry = entries_[index];
  std::vector<std::uint8_t> kept(entry.bytes);
  MG_RETURN_IF_ERROR(file_.copy(static_cast<std::size_t>(entry.offset), kept));
  if (crc32_of(kept) != entry.checksum) return corrupt_shard(name(index) + ": it does not have its checksum");
  if (!is_plain(kept.size(), out.size())) {
    MG_TRY(kept, decompressed(kept, out.size()).context(name(index)));
  }
  unpack_sample(kept, out);
  return {};
}

}  // namespace mangrove::data
