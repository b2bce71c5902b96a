#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

/// An IDX file of unsigned bytes, the format of MNIST: a big-endian magic number (0x0800 + rank), `rank` big-endian
/// sizes, then the elements in row-major order. A path that ends in .gz is unpacked into memory.
/// source: LeCun, Cortes & Burges, The MNIST database of handwritten digits.
/// threads: any thread may read.
class IdxFile {
 public:
  /// errors: not_found, permission_denied; data_loss: wrong magic number, a size of zero, fewer or more bytes than the
  /// header promises, corrupt gzip; the message names the file, what was found and what was expected.
  static Result<IdxFile> open(const fs::path& path, std::uint32_t rank, const FileOpener& opener = &FileBytes::open);

  /// `rank` sizes, none of them zero.
  const std::vector<std::uint32_t>& sizes() const { return sizes_; }
  /// All elements, as many as the product of sizes(). errors: those of FileBytes::copy.
  Result<std::string> elements() const { return file_.part(header_bytes_, file_.size() - header_bytes_); }
  /// Copies elements, from `first` on; see FileBytes::copy.
  Status copy(std::size_t first, std::span<std::uint8_t> out) const { return file_.copy(header_bytes_ + first, out); }

 private:
  IdxFile(FileBytes file, std::vector<std::uint32_t> sizes)
      : file_(std::move(file)), sizes_(std::move(sizes)), header_bytes_(4 + 4 * sizes_.size()) {}

  FileBytes file_;
  std::vector<std::uint32_t> sizes_;
  std::size_t header_bytes_;
};

}  // namespace mangrove::data
