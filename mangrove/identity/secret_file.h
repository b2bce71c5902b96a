#pragma once

#include <string>

#include "mangrove/base/file.h"

namespace mangrove::identity {

/// Reads a file that holds a key. errors: permission_denied (other users may read or change the file; says which chmod
/// to run), those of read_file().
Result<std::string> read_secret_file(const fs::path& path);

/// Makes a folder, and its parents, that only its owner may enter (0700). A folder that is there already stays as it
/// is.
/// errors: those of make_writable_folder().
Status make_secret_folder(const fs::path& path);

}  // namespace mangrove::identity
