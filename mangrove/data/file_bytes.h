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
  /// Gives back the memory of a part that was read and is not needed for a while; it can be read again all the same.
  /// So a file that is read here and there does not grow into this process's resident memory; the system's cache keeps
  /// it. Nothing for bytes that are no mapped file.
  void release(std::span<const std::uint8_t> part) const;

 private:
  FileBytes(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes, bool is_mapped)
      : owner_(std::move(owner)), bytes_(bytes), is_mapped_(is_mapped) {}

  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
  bool is_mapped_ = false;
};

}  // namespace mangrove::data
