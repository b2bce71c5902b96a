#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove {

namespace fs = std::filesystem;

/// The whole file. errors: not_found, permission_denied, data_loss (read fails); the message names the path.
Result<std::string> read_file(const fs::path& path);

/// Writes to a temporary name in the same folder, syncs, and renames: readers see the old file or the new one, never a
/// part. errors: permission_denied, not_found (no such folder), resource_exhausted (disk full); the message names the
/// path.
Status write_file_atomically(const fs::path& path, std::string_view content);

/// Makes the folder and its parents and checks that a file can be written in it.
/// errors: permission_denied, already_exists (a file of that name); the message names the path.
Status make_writable_folder(const fs::path& path);

}  // namespace mangrove
