#include "mangrove/cluster/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/log.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::cluster {
namespace {

std::string iso_time(identity::WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

void AuditLog::write(const Entry& entry) {
  const std::string line = dump(nlohmann::ordered_json{{"time", iso_time(identity::wall_now())},
                                                       {"who", entry.who},
                                                       {"from", entry.from},
                                                       {"what", entry.what},
                                                       {"about", entry.about},
                                                       {"outcome", entry.outcome}}) +
                           "\n";
  MutexLock lock(mutex_);
  const Status written = append(line);
  if (!written.ok() && !failed_) log_error("audit log not written", {{"message", written.error().message}});
  failed_ = !written.ok();
}

Status AuditLog::append(const std::string& line) {
  struct stat info {};
  if (::lstat(file_.c_str(), &info) == 0 && info.st_size + static_cast<off_t>(line.size()) > most_) {
    const fs::path old = file_.string() + ".1";
    if (::rename(file_.c_str(), old.c_str()) != 0) return os_error(file_, "rename", errno);
  }
  const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return os_error(file_, "open", errno);
  const ssize_t written = ::write(file, line.data(), line.size());  // one call: a line is never torn
  const int problem = written < 0 ? errno : ENOSPC;
  ::close(file);
  if (written != static_cast<ssize_t>(line.size())) return os_error(file_, "write", problem);
  return {};
}

}  // namespace mangrove::cluster
