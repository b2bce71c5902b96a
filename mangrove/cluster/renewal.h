#pragma once

#include <functional>
#include <thread>

#include "mangrove/base/file.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"

namespace mangrove::cluster {

/// Keeps the identity in a file from expiring while a process runs: a thread looks now and then whether it is due for
/// renewal, and replaces the file. Credentials that were loaded from the file use the new identity for new links; open
/// links stay as they are.
class Renewal {
 public:
  using Renew = std::function<Result<identity::Identity>()>;  // may block; called by the thread
  using IsOutdated = std::function<bool(const identity::Identity&)>;

  /// file: "" for an identity that is not in a file; then nothing is done. is_outdated: whether the identity must be
  /// renewed although it is not due.
  Renewal(
      fs::path file, Renew renew, IsOutdated is_outdated = [](const identity::Identity&) { return false; });
  ~Renewal();

  /// Renews the identity now if it is due or outdated. errors: those of files and of `renew`.
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
