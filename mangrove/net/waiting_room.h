#pragma once

#include <memory>

#include "mangrove/base/mutex.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/base/units.h"

namespace mangrove::net {

/// How many bytes of messages may wait in the mailboxes of one process until they are read. What nobody ever reads must
/// not fill the memory. threads: any thread may call any method.
class WaitingRoom {
 public:
  /// of_one: of one sender in one mailbox, where one message may be longer; of_all: together.
  WaitingRoom(Bytes of_one, Bytes of_all) : of_one_(of_one), of_all_(of_all) {}

  /// All together get half of the memory that this process may use, and one sender half of that.
  static std::shared_ptr<WaitingRoom> of_this_process() {
    constexpr Bytes kUnknown = GiB(4);
    const Bytes memory = memory_limit();
    const Bytes of_all = (memory > 0 ? memory : kUnknown) / 2;
    return std::make_shared<WaitingRoom>(of_all / 2, of_all);
  }

  Bytes of_one() const { return of_one_; }
  /// False: there is not so much room.
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
