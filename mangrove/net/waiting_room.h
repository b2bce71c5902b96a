#pragma once

#include <memory>

#include "mangrove/base/mutex.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/base/units.h"

namespace mangrove::net {

/// Bounds the bytes of messages that wait in the mailboxes of one process until they are read, so that messages that
/// nobody reads do not fill the memory. threads: any thread may call any method.
class WaitingRoom {
 public:
  /// of_one: bytes of one sender in one mailbox, where a single message may be longer. of_all: bytes of all mailboxes.
  WaitingRoom(Bytes of_one, Bytes of_all) : of_one_(of_one), of_all_(of_all) {}

  /// The room for all messages is half of the memory that this process may use, and that for one sender half of this.
  static std::shared_ptr<WaitingRoom> of_this_process() {
    constexpr Bytes kUnknown = GiB(4);
    const Bytes memory = memory_limit();
    const Bytes of_all = (memory > 0 ? memory : kUnknown) / 2;
    return std::make_shared<WaitingRoom>(of_all / 2, of_all);
  }

  Bytes of_one() const { return of_one_; }
  /// Takes room for a message. False: there is not enough, and nothing is taken.
  bool take(Bytes bytes) {
    MutexLock lock(mutex_);
    if (bytes > of_all_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  void give_back(Bytes bytes) {
    MutexLock lock(mutex_);
    taken_ -= bytes;
  }

 private:
  const Bytes of_one_, of_all_;
  Mutex mutex_;
  Bytes taken_ MG_GUARDED_BY(mutex_) = 0;
};

}  // namespace mangrove::net
