#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"

namespace mangrove::data {

/// Read-only bytes: of an open file, or in memory. Copies share them. A file is read and not mapped: one that becomes
/// shorter while it is used is an error then, and does not end the process. Replacing it by another of its name is
/// harmless.
/// threads: any thread may read.
class FileBytes {
 public:
  FileBytes() = default;

  /// errors: not_found, permission_denied, data_loss (cannot be read, or is not a regular file).
  static Result<FileBytes> open(const fs::path& path);
  static FileBytes of(std::string content);

  /// As it was when the file was opened.
  std::size_t size() const { return size_; }
  /// Copies those from `offset` on, as many as `out` takes, all of which must be there. What is read of a file does not
  /// become memory of this process by it; the system's cache keeps it.
  /// errors: data_loss (a file cannot be read any more).
  Status copy(std::size_t offset, std::span<std::uint8_t> out) const;
  /// `count` of them, likewise.
  Result<std::string> part(std::size_t offset, std::size_t count) const;
  Result<std::string> all() const { return part(0, size_); }

 private:
  struct OpenFile;

  std::shared_ptr<const OpenFile> file_;  // null: in memory
  std::shared_ptr<const std::string> memory_;
  std::size_t size_ = 0;
};

/// For what reads bytes.
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace mangrove::data
