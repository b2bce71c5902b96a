#include "mangrove/data/idx.h"

#include <algorithm>

#include "mangrove/data/gzip.h"

namespace mangrove::data {
namespace {

constexpr std::uint32_t kUnsignedBytes = 0x0800;         // the magic number less its rank
constexpr std::size_t kMaxBytes = std::size_t{1} << 40;  // 1 TiB: larger products of sizes are nonsense

struct Header {
  std::vector<std::uint32_t> sizes;
  std::size_t file_bytes = 0;  // of the whole file, header included
};

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

Error corrupt_idx(const std::string& what) {
  return make_error(Code::data_loss, what);
}

std::string to_text(const std::vector<std::uint32_t>& sizes) {
  std::string text;
  for (const std::uint32_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

Result<Header> parse_header(std::span<const std::uint8_t> bytes, std::uint32_t rank) {
  const std::size_t header_bytes = 4 + 4 * std::size_t{rank};
  if (bytes.size() < header_bytes)
    return corrupt_idx("truncated: " + std::to_string(bytes.size()) + " bytes found, an IDX header of " +
                       std::to_string(header_bytes) + " expected");
  if (const std::uint32_t magic = big_endian(bytes); magic != kUnsignedBytes + rank)
    return corrupt_idx("not the IDX file expected: magic number " + std::to_string(magic) + " found, " +
                       std::to_string(kUnsignedBytes + rank) + " expected");
  Header header;
  std::size_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    header.sizes.push_back(big_endian(bytes.subspan(4 + 4 * i)));
    if (header.sizes.back() == 0) return corrupt_idx("dimension " + std::to_string(i) + " is zero: no samples in it");
    if (elements > kMaxBytes / header.sizes.back())
      return corrupt_idx("sizes " + to_text(header.sizes) + " are too large");
    elements *= header.sizes.back();
  }
  header.file_bytes = header_bytes + elements;
  return header;
}

Status check_length(const Header& header, std::size_t found, bool more_may_follow) {
  if (found == header.file_bytes) return {};
  const bool truncated = found < header.file_bytes;
  return corrupt_idx(std::string(truncated ? "truncated: " : "too long: ") + (more_may_follow ? "at least " : "") +
                     std::to_string(found) + " bytes found, " + std::to_string(header.file_bytes) + " expected for " +
                     to_text(header.sizes) + " elements");
}

struct Content {
  FileBytes file;
  Header header;
};

std::size_t header_bytes(std::uint32_t rank) {
  return 4 + 4 * std::size_t{rank};
}

Result<Content> read_raw(FileBytes file, std::uint32_t rank) {
  MG_TRY(const std::string start, file.part(0, std::min(file.size(), header_bytes(rank))));
  MG_TRY(Header header, parse_header(bytes_of(start), rank));
  MG_RETURN_IF_ERROR(check_length(header, file.size(), false));
  return Content{std::move(file), std::move(header)};
}

/// The header first: it bounds how much is unpacked.
Result<Content> read_gzip(const FileBytes& file, std::uint32_t rank) {
  MG_TRY(const std::string packed, file.all());
  MG_TRY(const std::string start, gunzip(bytes_of(packed), header_bytes(rank)));
  MG_TRY(Header header, parse_header(bytes_of(start), rank));
  MG_TRY(std::string unpacked, gunzip(bytes_of(packed), header.file_bytes + 1));
  MG_RETURN_IF_ERROR(check_length(header, unpacked.size(), unpacked.size() > header.file_bytes));
  return Content{FileBytes::of(std::move(unpacked)), std::move(header)};
}

}  // namespace

Result<IdxFile> IdxFile::open(const fs::path& path, std::uint32_t rank, const FileOpener& opener) {
  MG_TRY(FileBytes file, opener(path));
  const bool compressed = path.extension() == ".gz";
  MG_TRY(Content content,
         (compressed ? read_gzip(file, rank) : read_raw(std::move(file), rank)).context(path.string()));
  return IdxFile(std::move(content.file), std::move(content.header.sizes));
}

}  // namespace mangrove::data
