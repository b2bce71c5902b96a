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
#include "mangrove/base/printable.h"

namespace mangrove::cluster {
namespace {

using identity::WallTime;

constexpr std::size_t kLongestField = 256;                  // bytes
constexpr int kLinesOfAMember = 60, kLinesOfAStranger = 2;  // a minute
constexpr std::size_t kMostAddresses = 32;                  // of strangers, with a count of their own in a minute
constexpr const char* kOthers = "others";

std::string iso_time(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// "ipv4:10.0.0.7:51234" without the port, which differs with every connection.
std::string host_of(const std::string& from) {
  return from.substr(0, from.rfind(':'));
}

/// Whether the file does not end with the end of a line: the machine lost power while one was written.
bool is_torn(int file, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

AuditLog::~AuditLog() {
  MutexLock lock(mutex_);
  write_counted(identity::wall_now());
}

void AuditLog::write(const Entry& entry, WallTime now) {
  MutexLock lock(mutex_);
  if (now < minute_ || now >= minute_ + std::chrono::minutes(1)) {
    write_counted(now);
    minute_ = now;
  }
  if (entry.changes_members) put(file_.parent_path() / "members.jsonl", entry, now, true);
  if (entry.changes_members || has_room(entry)) put(file_, entry, now, false);
}

bool AuditLog::has_room(const Entry& entry) {
  std::string key = entry.who.empty() ? host_of(entry.from) : entry.who;
  if (entry.who.empty() && lines_.size() >= kMostAddresses && !lines_.contains(key)) key = kOthers;
  Lines& lines = lines_[key];
  if (lines.written < (entry.who.empty() ? kLinesOfAStranger : kLinesOfAMember)) {
    ++lines.written;
    return true;
  }
  ++lines.counted;
  lines.last = entry;
  return false;
}

void AuditLog::write_counted(WallTime now) {
  for (const auto& [key, lines] : lines_) {
    if (lines.counted == 0) continue;
    Entry sum = lines.last;
    if (sum.who.empty()) sum.from = key;
    sum.about = std::to_string(lines.counted) + " more lines since " + iso_time(minute_) + ", the last: " + sum.about;
    put(file_, sum, now, false);
  }
  lines_.clear();
}

void AuditLog::put(const fs::path& file, const Entry& entry, WallTime now, bool is_synced) {
  const std::string line = dump(nlohmann::ordered_json{{"time", iso_time(now)},
                                                       {"who", cut_short(entry.who, kLongestField)},
                                                       {"from", cut_short(entry.from, kLongestField)},
                                                       {"what", cut_short(entry.what, kLongestField)},
                                                       {"about", cut_short(entry.about, kLongestField)},
                                                       {"outcome", cut_short(entry.outcome, kLongestField)}}) +
                           "\n";
  const Status written = append(file, line, is_synced);
  if (written.ok()) {
    failed_.erase(file);
  } else if (failed_.insert(file).second) {
    log_error("audit log not written", {{"message", written.error().message}});
  }
}

Status AuditLog::append(const fs::path& path, const std::string& line, bool is_synced) const {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && info.st_size + static_cast<off_t>(line.size()) > most_) {
    const fs::path old = path.string() + ".1";
    if (::rename(path.c_str(), old.c_str()) != 0) return os_error(path, "rename", errno);
    info.st_size = 0;
  }
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return os_error(path, "open", errno);
  const std::string whole = (is_torn(file, info.st_size) ? "\n" : "") + line;
  const ssize_t written = ::write(file, whole.data(), whole.size());  // one call: a line is never torn by another
  int problem = written < 0 ? errno : written == static_cast<ssize_t>(whole.size()) ? 0 : ENOSPC;
  if (problem == 0 && is_synced && ::fdatasync(file) != 0) problem = errno;
  ::close(file);
  return problem == 0 ? Status() : Status(os_error(path, "write", problem));
}

}  // namespace mangrove::cluster
