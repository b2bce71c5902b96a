#include "mangrove/cluster/audit_log.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "mangrove/base/iso_time.h"
#include "mangrove/base/json_dump.h"
#include "mangrove/base/line_file.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"

namespace mangrove::cluster {
namespace {

using identity::WallTime;

constexpr std::size_t kLongestField = 256;                  // bytes
constexpr int kLinesOfAMember = 60, kLinesOfAStranger = 2;  // a minute
constexpr std::size_t kMostStrangers = 32;                  // of strangers, with a count of their own in a minute
constexpr const char* kOthers = "others";

/// "ipv4:10.0.0.7:51234" without the port, which differs with every connection.
std::string host_of(const std::string& from) {
  return from.substr(0, from.rfind(':'));
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
  if (entry.who.empty() && lines_.size() >= kMostStrangers && !lines_.contains(key)) key = kOthers;
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
    sum.about =
        std::to_string(lines.counted) + " more lines since " + to_iso_text(minute_) + ", the last: " + sum.about;
    put(file_, sum, now, false);
  }
  lines_.clear();
}

void AuditLog::put(const fs::path& file, const Entry& entry, WallTime now, bool is_synced) {
  const std::string line = dump(nlohmann::ordered_json{{"time", to_iso_text(now)},
                                                       {"who", cut_short(entry.who, kLongestField)},
                                                       {"from", cut_short(entry.from, kLongestField)},
                                                       {"what", cut_short(entry.what, kLongestField)},
                                                       {"about", cut_short(entry.about, kLongestField)},
                                                       {"outcome", cut_short(entry.outcome, kLongestField)}}) +
                           "\n";
  const Status written = append_lines(file, line, {.most = most_, .is_synced = is_synced});
  if (written.ok()) {
    failed_.erase(file);
  } else if (failed_.insert(file).second) {
    log_error("audit log not written", {{"message", written.error().message}});
  }
}

}  // namespace mangrove::cluster
