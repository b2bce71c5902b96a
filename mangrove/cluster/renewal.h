#pragma once

#include <functional>
#include <thread>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"

namespace mangrove::cluster {

/// Keeps the identity in a file from expiring while a process runs: a thread looks now and then whether it is due, and
/// puts another in its place. Credentials of the file take it up; links that are open stay as they are.
class Renewal {
 public:
  using Renew = std::function<Result<identity::Identity>()>;  // may block; called by the thread
  using IsOutdated = std::function<bool(const identity::Identity&)>;

  /// A file that is "" is not looked at: that identity stays as it is. is_outdated: renew it before it is due.
  Renewal(
      fs::path file, Renew renew, IsOutdated is_outdated = [](const identity::Identity&) { return false; });
  ~Renewal();

  /// Looks at once, whatever the thread does. errors: those of files and of `renew`.
  Status look() const;

 private:
  void run(const std::stop_token& stop);

  const fs::path file_;
  const Renew renew_;
  const IsOutdated is_outdated_;
  mutable Mutex mutex_;  // while it looks
  std::jthread thread_;
};

}  // namespace mangrove::cluster
