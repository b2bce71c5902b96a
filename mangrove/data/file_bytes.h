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

 private:
  FileBytes(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace mangrove::data
