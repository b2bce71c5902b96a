#include "mangrove/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace mangrove {

Result<FolderLock> FolderLock::take(const fs::path& folder, bool waits) {
  FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.descriptor_ < 0) return os_error(folder, "open", errno);
  while (::flock(lock.descriptor_, LOCK_EX | (waits ? 0 : LOCK_NB)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return make_error(Code::unavailable, folder.string() + ": another process has it");
    return os_error(folder, "lock", errno);
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace mangrove
