#pragma once

#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::cluster {

/// Who did what on a coordinator, when and from where: a JSON object a line, in a file that its owner alone reads.
///
///     {"time": "2026-11-24T15:04:05Z", "who": "mangrove://client/anna", "from": "ipv4:10.0.0.7:51234",
///      "what": "run_job", "about": "job-5f3a9c27-1", "outcome": "ok"}
///
/// When it is longer than `most`, it becomes FILE.1, in place of the one that had this name, and a new one begins.
/// threads: any thread may call any method.
class AuditLog {
 public:
  struct Entry {
    std::string who;   // subject of the certificate; "": none was shown
    std::string from;  // address, as gRPC writes it
    std::string what;
    std::string about;  // a job, a member, an invitation; "": nothing more
    std::string outcome = "ok";
  };

  explicit AuditLog(fs::path file, Bytes most = MiB(8)) : file_(std::move(file)), most_(most) {}

  /// That it cannot be written is logged, once until it can be again: the cluster goes on.
  void write(const Entry& entry);

 private:
  Status append(const std::string& line) MG_REQUIRES(mutex_);

  const fs::path file_;
  const Bytes most_;
  Mutex mutex_;
  bool failed_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::cluster
