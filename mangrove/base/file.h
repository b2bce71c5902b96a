#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove {

namespace fs = std::filesystem;

/// What errno says of a path, "PATH: cannot WHAT: REASON", with the code that fits.
Error os_error(const fs::path& path, const char* what, int number);

/// A file open for reading; closed in the end.
class InputFile {
 public:
  /// errors: not_found, permission_denied, invalid_argument (a folder); the message names the path.
  static Result<InputFile> open(const fs::path& path);
  InputFile(InputFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  int descriptor() const { return descriptor_; }
  /// Of a regular file; 0 where only its end tells, as of a pipe and under /proc.
  Bytes size() const { return size_; }

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
  Bytes size_ = 0;
};

/// The whole file. errors: not_found, permission_denied, data_loss (read fails); the message names the path.
Result<std::string> read_file(const fs::path& path);

/// Writes to a temporary name in the same folder, syncs, and renames: readers see the old file or the new one, never a
/// part. errors: permission_denied, not_found (no such folder), resource_exhausted (disk full); the message names the
/// path.
Status write_file_atomically(const fs::path& path, std::string_view content);

/// Writes as write_file_atomically() does, for content that other users must not read, such as keys and weights. Only
/// the owner may read the file (0600). A link of this name is replaced, not followed. The folder is synced too, so that
/// the new file survives a power cut. errors: those of write_file_atomically().
Status write_private_file(const fs::path& path, std::string_view content);

/// Makes the folder and its parents and checks that a file can be written in it.
/// errors: permission_denied, already_exists (a file of that name); the message names the path.
Status make_writable_folder(const fs::path& path);

}  // namespace mangrove
