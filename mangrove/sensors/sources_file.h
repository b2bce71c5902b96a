#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/sensors/source_options.h"

namespace mangrove::sensors {

/// What a file of sources says.
struct SourcesFile {
  std::vector<SourceOptions> sources;  // in its order
  Bytes offline_buffer = 0;            // 0: what waits is kept in memory, within `unsent`
  Bytes unsent = 16'000'000;
  std::string state_folder;  // "": the state folder of this user
  std::int64_t seen_ids = 100'000;
};

/// Reads a YAML file with a section for each source; keys outside sections hold for all that have them.
/// errors: not_found; invalid_argument (unknown key or kind, a value that does not fit, sections that do not fit each
/// other, answers that the source would read as questions; names file and line).
Result<SourcesFile> load_sources(const fs::path& path);
/// Does the same with the text of a file; `path` is its name in errors.
Result<SourcesFile> parse_sources(const std::string& text, const fs::path& path);

/// The keys of a section of this kind, and those of all kinds with "". The options must outlive them.
Keys source_keys(SourceOptions& options, const std::string& kind);
/// The keys of the whole file, which stand outside sections.
Keys file_keys(SourcesFile& file);

}  // namespace mangrove::sensors
