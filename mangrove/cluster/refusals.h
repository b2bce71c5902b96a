#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"

namespace mangrove::cluster {

/// Why a coordinator refuses what others ask of it or send to it. refusal_name() has the same words.
enum class Refusal {
  not_allowed,        // by role or owner, or without a valid certificate
  bad_join_string,    // and calls to join that cannot be read
  too_many_joins,     // within a minute
  too_many_renewals,  // of one member within a day
  too_many_jobs,      // of one client within a minute
  too_many_streams,   // open at once, of one caller or all
  message_too_long,
  impossible_numbers,   // in what a node says of itself
  answers_not_read,     // the stream was cut
  no_room_for_message,  // of a job: too much waits unread
  rank_of_another,      // a message of a job
};
/// "not_allowed"
const char* refusal_name(Refusal why);

/// Counts what a coordinator has refused since it began, and writes lines about it into the log: for each reason one
/// at once, and then at most one in ten seconds.
/// threads: any thread may call any method.
class Refusals {
 public:
  /// clock: must outlive this object.
  explicit Refusals(const Clock& clock) : clock_(clock) {}

  /// peer: the address of whom it was refused; message: what it was told. "": nobody knows, nothing.
  void count(Refusal why, const std::string& peer = "", const std::string& message = "");
  /// By name; reasons that nothing was refused for are left out.
  std::map<std::string, std::int64_t> counts() const;

 private:
  struct Counter {
    std::int64_t count = 0;
    std::int64_t unlogged = 0;  // since the last line
    std::optional<Instant> logged;
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<Refusal, Counter> counters_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::cluster
