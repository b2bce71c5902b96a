#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "mangrove/base/file.h"

namespace mangrove::cli {

/// Gives each object of a file of JSON lines away, in order; of the file, one line is in memory at a time. What is no
/// object is left out, as is a line of more than 4 MiB; where that is one, a warning names the first. A run that was
/// killed, or still writes, leaves a last line that is cut off.
/// errors: those of reading; data_loss (no line is an object; names the file and the first line).
Status read_json_lines(const fs::path& path, const std::function<void(const nlohmann::json&)>& take);

/// A file that holds one JSON object. errors: those of reading; data_loss (it holds something else; names the file, and
/// the line of what cannot be read); resource_exhausted (more than 64 MiB).
Result<nlohmann::json> read_json_object(const fs::path& path);

}  // namespace mangrove::cli
