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

/// The streams of a server that are open, so that they can be cut: a handler that waits for a peer has no other end.
/// Each holds threads and memory, so there may be so many.
/// threads: any thread may call any method.
class OpenCalls {
 public:
  struct Limits {
    std::size_t all = 4096;
    std::size_t of_one = 64;  // member
  };
  explicit OpenCalls(Limits limits = {4096, 64}) : limits_(limits) {}

  /// One open stream, as long as it lives.
  class Call {
   public:
    Call(OpenCalls& calls, grpc::ServerContext* context, Deadline first_message);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// who, serial, valid_to: of the caller's certificate; "": he has none, and is not counted by himself.
    /// errors: resource_exhausted (too many are open, of all or of his).
    Status take(const std::string& who, const std::string& serial,
                identity::WallTime valid_to = identity::WallTime::max());
    void greeted();  // the first message has come
    void cut();

   private:
    OpenCalls& calls_;
    grpc::ServerContext* context_;
  };

  void cut_mute(Instant now);
  /// is_to_end: says of the serial of a certificate whether what it has opened ends.
  void cut_where(const std::function<bool(const std::string& serial)>& is_to_end);
  /// has_expired: says it of its owner and its end.
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
