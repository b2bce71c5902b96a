#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mangrove/base/file.h"

namespace mangrove::data {

/// Read-only bytes that keep what they lie in alive: a mapped file, or memory. Copies share them.
/// threads: any thread may read.
class FileBytes {
 public:
  FileBytes() = default;

  /// Maps the file, so that processes that read the same file share its pages. A file must not be shortened while it is
  /// mapped (replacing it by another of that name is harmless). errors: not_found, permission_denied, data_loss (cannot
  /// be read, or is not a regular file).
  static Result<FileBytes> map(const fs::path& path);
  static FileBytes of(std::string content);

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  /// Copies those from `offset` on, as many as `out` takes, all of which must be there. A part of a mapped file does
  /// not become resident memory of this process by it, as it does when bytes() are read; the system's cache keeps it.
  /// errors: data_loss (a mapped file cannot be read any more).
  Status copy(std::size_t offset, std::span<std::uint8_t> out) const;

 private:
  FileBytes(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
  int file_ = -1;     // the mapped one, which the owner closes
  std::string path_;  // its
};

}  // namespace mangrove::data
