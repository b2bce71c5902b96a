#pragma once

#include <functional>
#include <map>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"

namespace grpc {
class ServerContext;
}

namespace mangrove::cluster {

/// The streams of a server that are open, so that they can be cut: a handler that waits for a peer has no other end.
/// threads: any thread may call any method.
class OpenCalls {
 public:
  /// One open stream, as long as it lives.
  class Call {
   public:
    Call(OpenCalls& calls, grpc::ServerContext* context, Deadline first_message);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void greeted();  // the first message has come
    void cut();

   private:
    OpenCalls& calls_;
    grpc::ServerContext* context_;
  };

  void cut_mute(Instant now);
  void cut_where(const std::function<bool(const grpc::ServerContext&)>& is_to_end);
  /// Cuts all that are open, and at once those that come.
  void cut_all();

 private:
  Mutex mutex_;
  std::map<grpc::ServerContext*, Deadline> open_ MG_GUARDED_BY(mutex_);  // by when the first message must come
  bool closed_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::cluster
