#pragma once

#include <map>
#include <set>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::cluster {

/// Who did what on a coordinator, when and from where: a JSON object a line, in a file that its owner alone reads.
///
///     {"time": "2026-11-24T15:04:05Z", "who": "mangrove://client/anna", "from": "ipv4:10.0.0.7:51234",
///      "what": "run_job", "about": "job-5f3a9c27-1", "outcome": "ok"}
///
/// When the file would become longer than `most`, it is renamed to FILE.1, in place of an older FILE.1, and a new file
/// begins.
///
/// No caller can push out what others have done: a field has at most 256 bytes, a member gets 60 lines a minute and a
/// stranger's address two, and further lines are counted in one line. Entries that change members are also written to
/// members.jsonl in the same folder, which has no others, and are on the disk before write() returns.
/// threads: any thread may call any method.
class AuditLog {
 public:
  struct Entry {
    std::string who;   // subject of the caller's certificate, as its URI; "": no certificate was shown
    std::string from;  // the caller's address, as gRPC writes it
    std::string what;
    std::string about;  // a job, a member, an invitation; "": nothing more
    std::string outcome = "ok";
    bool changes_members = false;  // somebody was invited, let in, renewed or thrown out
  };

  explicit AuditLog(fs::path file, Bytes most = MiB(8)) : file_(std::move(file)), most_(most) {}
  ~AuditLog();  // writes the lines about what was counted

  /// If the file cannot be written, that is logged once, until it can be written again. The cluster goes on.
  void write(const Entry& entry, identity::WallTime now = identity::wall_now());

 private:
  struct Lines {
    int written = 0;
    int counted = 0;  // entries that were not written
    Entry last{};     // the last one of those
  };
  bool has_room(const Entry& entry) MG_REQUIRES(mutex_);
  void write_counted(identity::WallTime now) MG_REQUIRES(mutex_);
  void put(const fs::path& file, const Entry& entry, identity::WallTime now, bool is_synced) MG_REQUIRES(mutex_);

  const fs::path file_;
  const Bytes most_;
  Mutex mutex_;
  std::set<fs::path> failed_ MG_GUARDED_BY(mutex_);           // whose last line is not written
  identity::WallTime minute_ MG_GUARDED_BY(mutex_){};         // when the current minute began
  std::map<std::string, Lines> lines_ MG_GUARDED_BY(mutex_);  // of the current minute, by subject or address
};

}  // namespace mangrove::cluster
