#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/wall_time.h"

namespace grpc {
class ServerContext;
}

namespace mangrove::cluster {

/// The open streams of a server, so that they can be cut: a handler that waits for a peer has no other end. Their
/// number is limited, since each holds threads and memory.
/// threads: any thread may call any method.
class OpenCalls {
 public:
  struct Limits {
    std::size_t all = 4096;
    std::size_t of_one = 64;  // of one member
  };
  explicit OpenCalls(Limits limits = {4096, 64}) : limits_(limits) {}

  /// One open stream, as long as it lives.
  class Call {
   public:
    Call(OpenCalls& calls, grpc::ServerContext* context, Deadline first_message);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Counts the stream as one of its caller's. who, serial, valid_to: subject, serial and end of the caller's
    /// certificate; "": the caller has none, and only the limit for all streams holds.
    /// errors: resource_exhausted (too many streams are open, of all callers or of this one).
    Status take(const std::string& who, const std::string& serial,
                identity::WallTime valid_to = identity::WallTime::max());
    void greeted();  // the first message has come
    void cut();

   private:
    OpenCalls& calls_;
    grpc::ServerContext* context_;
  };

  void cut_mute(Instant now);
  /// Cuts the streams of certificates of whose serials is_to_end() says true.
  void cut_where(const std::function<bool(const std::string& serial)>& is_to_end);
  /// Cuts the streams of certificates that have expired, as has_expired() says of a subject and an end.
  void cut_expired(const std::function<bool(const std::string& who, identity::WallTime valid_to)>& has_expired);
  /// Cuts all that are open, and at once those that come.
  void cut_all();

 private:
  struct Open {
    Deadline first_message;  // by when it must come
    std::string who{}, serial{};
    identity::WallTime valid_to = identity::WallTime::max();
  };

  const Limits limits_;
  Mutex mutex_;
  std::map<grpc::ServerContext*, Open> open_ MG_GUARDED_BY(mutex_);
  bool closed_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::cluster
