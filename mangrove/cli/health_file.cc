#include "mangrove/cli/health_file.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/units.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

/// The file, as JSON.
struct KeptHealth {
  Health health;
  Seconds written_at = 0;

  static void fields(auto& self, auto& field) {
    field("program", self.health.program);
    field("is_ready", self.health.is_ready);
    field("status", self.health.status);
    field("pid", self.health.pid);
    field("written_at_s", self.written_at);
  }
};

}  // namespace

std::optional<fs::path> health_file() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment then
  const char* path = std::getenv("MANGROVE_HEALTH_FILE");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return path;
}

Status write_health(const fs::path& path, const Health& health, Instant now) {
  return write_file_atomically(path, dump(job::json_of(KeptHealth{health, now.seconds})) + "\n");
}

Result<Health> read_health(const fs::path& path, Instant now) {
  const Result<std::string> text = read_file(path);
  if (!text.ok() && text.code() == Code::not_found)
    return make_error(Code::unavailable, path.string() + " is not there: no process of Mangrove runs with this file");
  if (!text.ok()) return text.error();
  const Result<KeptHealth> kept = job::parse_json<KeptHealth>(*text);
  if (!kept.ok() || std::isnan(kept->written_at))
    return make_error(Code::data_loss, path.string() + " is not a file in which a process keeps its health");
  const Seconds age = now.seconds - kept->written_at;
  if (age >= 0 && age <= kHealthIsOldAfter) return kept->health;
  const std::string since = age < 0 ? "since this machine was started" : "for " + format_seconds(age);
  return make_error(Code::unavailable, kept->health.program + " has given no sign of life " + since +
                                           "; last it said: " + kept->health.status);
}

bool is_kept_by_another(const fs::path& path, Instant now) {
  const Result<Health> health = read_health(path, now);
  if (!health.ok() || health->pid <= 0 || health->pid > std::numeric_limits<pid_t>::max()) return false;
  const auto pid = static_cast<pid_t>(health->pid);
  return pid != ::getpid() && (::kill(pid, 0) == 0 || errno == EPERM);
}

}  // namespace mangrove::cli
