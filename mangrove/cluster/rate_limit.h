#pragma once

#include <map>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"

namespace mangrove::cluster {

/// Of joins from one address, behind which there may be a hall of boards.
inline constexpr int kMostJoinsAMinute = 1200;

/// Limits how many times a minute each caller may do something. A caller's minute begins with the first time.
/// threads: any thread may call any method.
class RateLimit {
 public:
  /// what: the thing that is limited, for the error, e.g. "joins from one address".
  RateLimit(std::string what, int a_minute) : what_(std::move(what)), a_minute_(a_minute) {}

  /// Counts one more time. who: an address, or the subject of a certificate. errors: resource_exhausted (too often).
  Status take(const std::string& who, Instant now);

 private:
  struct Minute {
    Instant end;
    int times = 0;
  };

  const std::string what_;
  const int a_minute_;
  Mutex mutex_;
  std::map<std::string, Minute> minutes_ MG_GUARDED_BY(mutex_);  // past ones are removed when there are many
};

/// "ipv4:192.168.1.10" of "ipv4:192.168.1.10:40312", as gRPC names the other end of a connection: the part that all
/// connections of one machine share.
std::string address_of(const std::string& peer);

}  // namespace mangrove::cluster
