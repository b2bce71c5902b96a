#pragma once

#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove {

struct LineFileOptions {
  Bytes most = MiB(8);     // length of the file; when it would become longer, a new one begins
  bool is_synced = false;  // the lines are on the disk before the call returns
};

/// Appends whole lines to a file that only its owner may read, which is made if it is not there. From a file that is
/// there, the rights of others are taken.
///
/// When the file would become longer than `most`, it is renamed to FILE.1, in place of an older FILE.1. The file is
/// opened for each call, so it may be moved away at any time. A last line that is torn, because the machine lost power,
/// is ended first. A link is not followed.
/// errors: those of os_error(), with the file's name.
Status append_lines(const fs::path& file, const std::string& lines, const LineFileOptions& options);

}  // namespace mangrove
