#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/result.h"

namespace mangrove::cli {

/// What a process that runs for long says of itself.
struct Health {
  std::string program;    // its command, e.g. "node"
  bool is_ready = false;  // does its work: a node has joined, a server answers
  std::string status;     // one line for people
  std::int64_t pid = 0;   // of the process
};

/// A process writes its health so often, as a sign of life.
constexpr Seconds kHealthEvery = 5;
/// A process without a sign of life for so long hangs, or is gone.
constexpr Seconds kHealthIsOldAfter = 30;

/// The file where processes of this environment keep their health, $MANGROVE_HEALTH_FILE. Nothing: they keep none.
std::optional<fs::path> health_file();
/// now: of SteadyClock, which all processes of a machine share. errors: those of write_file_atomically().
Status write_health(const fs::path& path, const Health& health, Instant now);
/// errors: unavailable (no process has written this file, or not for kHealthIsOldAfter: says for how long), data_loss
/// (it is another kind of file), those of read_file().
Result<Health> read_health(const fs::path& path, Instant now);
/// Whether another process, which is alive, has written the file within kHealthIsOldAfter.
bool is_kept_by_another(const fs::path& path, Instant now);

}  // namespace mangrove::cli
