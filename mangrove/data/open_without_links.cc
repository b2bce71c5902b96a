#include "mangrove/data/open_without_links.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace mangrove::data {

int open_without_links(const fs::path& path, int flags) {
  open_how how{};
  how.flags = static_cast<decltype(how.flags)>(flags);
  how.resolve = RESOLVE_NO_SYMLINKS;
  const long opened = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how);
  // where a sandbox does not know the call, it says EPERM
  if (opened < 0 && (errno == ENOSYS || errno == EPERM)) return walk_without_links(path, flags);
  return static_cast<int>(opened);
}

int walk_without_links(const fs::path& path, int flags) {
  int folder = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const fs::path below = path.relative_path();
  for (auto name = below.begin(); folder >= 0 && name != below.end(); ++name) {
    const bool is_last = std::next(name) == below.end();
    const int next =
        ::openat(folder, name->c_str(), is_last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int problem = errno;
    ::close(folder);
    errno = problem;
    folder = next;
  }
  return folder;
}

}  // namespace mangrove::data
