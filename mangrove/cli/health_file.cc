#include "mangrove/cli/health_file.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "mangrove/base/units.h"

namespace mangrove::cli {

std::optional<fs::path> health_file() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment then
  const char* path = std::getenv("MANGROVE_HEALTH_FILE");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return path;
}

Status write_health(const fs::path& path, const Health& health, Instant now) {
  const nlohmann::json json{{"program", health.program},
                            {"is_ready", health.is_ready},
                            {"status", health.status},
                            {"pid", health.pid},
                            {"written_at_s", now.seconds}};
  return write_file_atomically(path, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<Health> read_health(const fs::path& path, Instant now) {
  const Result<std::string> text = read_file(path);
  if (!text.ok() && text.code() == Code::not_found)
    return make_error(Code::unavailable, path.string() + " is not there: no process of Mangrove runs with this file");
  if (!text.ok()) return text.error();
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  try {
    Health health{json.at("program").get<std::string>(), json.at("is_ready").get<bool>(),
                  json.at("status").get<std::string>(), json.at("pid").get<std::int64_t>()};
    const Seconds age = now.seconds - json.at("written_at_s").get<Seconds>();
    if (age >= 0 && age <= kHealthIsOldAfter) return health;
    const std::string since = age < 0 ? "since this machine was started" : "for " + format_seconds(age);
    return make_error(Code::unavailable,
                      health.program + " has given no sign of life " + since + "; last it said: " + health.status);
  } catch (const nlohmann::json::exception&) {
    return make_error(Code::data_loss, path.string() + " is not a file in which a process keeps its health");
  }
}

bool is_kept_by_another(const fs::path& path, Instant now) {
  const Result<Health> health = read_health(path, now);
  if (!health.ok() || health->pid <= 0 || health->pid > std::numeric_limits<pid_t>::max()) return false;
  const auto pid = static_cast<pid_t>(health->pid);
  return pid != ::getpid() && (::kill(pid, 0) == 0 || errno == EPERM);
}

}  // namespace mangrove::cli
