#pragma once

#include <functional>
#include <thread>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"

namespace mangrove::cluster {

/// Keeps the identity in a file from expiring while a process runs: a thread looks now and then whether it is due, and
/// puts another in its place. Credentials of the file take it up; links that are open stay as they are.
class Renewal {
 public:
  using Renew = std::function<Result<identity::Identity>()>;  // may block; called by the thread

  /// A file that is "" is not looked at: that identity stays as it is.
  Renewal(fs::path file, Renew renew);
  ~Renewal();

 private:
  void run(const std::stop_token& stop);
  Status look() const;

  const fs::path file_;
  const Renew renew_;
  std::jthread thread_;
};

}  // namespace mangrove::cluster
