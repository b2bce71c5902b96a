#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"

namespace mangrove::data {

/// Read-only bytes of an open file, or in memory. Copies share them. Files are read and not mapped: a file that becomes
/// shorter while it is used is then an error, and does not end the process. It is harmless to replace a file by another
/// one of its name.
/// threads: any thread may read.
class FileBytes {
 public:
  FileBytes() = default;

  /// errors: not_found, permission_denied, data_loss (cannot be read, or is not a regular file).
  static Result<FileBytes> open(const fs::path& path);
  /// Opens as open() does, but no part of the path may be a link. path: absolute, without "." and "..".
  /// errors: those of open(); permission_denied (a link).
  static Result<FileBytes> open_without_links(const fs::path& path);
  static FileBytes of(std::string content);

  /// The number of bytes when the file was opened.
  std::size_t size() const { return size_; }
  /// Copies the bytes from `offset` on, as many as `out` takes; all of them must be there. The process keeps no further
  /// memory for what it has read; the system's cache keeps the file.
  /// errors: data_loss (the file cannot be read any more).
  Status copy(std::size_t offset, std::span<std::uint8_t> out) const;
  /// Copies `count` bytes from `offset` on. errors: those of copy().
  Result<std::string> part(std::size_t offset, std::size_t count) const;
  Result<std::string> all() const { return part(0, size_); }

 private:
  struct OpenFile;
  static Result<FileBytes> take(int descriptor, const fs::path& path);

  std::shared_ptr<const OpenFile> file_;  // null: in memory
  std::shared_ptr<const std::string> memory_;
  std::size_t size_ = 0;
};

/// How a data set opens its files: as FileBytes::open() does, or see DataFolder::opener().
using FileOpener = std::function<Result<FileBytes>(const fs::path&)>;

/// The bytes of a text, as a view, for readers that take bytes.
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace mangrove::data
