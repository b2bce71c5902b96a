#include "mangrove/base/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace mangrove {
namespace {

/// Whether the file does not end with the end of a line: the machine lost power while one was written.
bool is_torn(int file, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

/// Takes the rights of others from a file, whoever made it. Anything else, as /dev/stdout, stays as it is.
bool make_private(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return false;
  return !S_ISREG(info.st_mode) || (info.st_mode & 077) == 0 || ::fchmod(file, 0600) == 0;
}

}  // namespace

Status append_lines(const fs::path& path, const std::string& lines, const LineFileOptions& options) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && info.st_size > 0 &&
      info.st_size + static_cast<off_t>(lines.size()) > options.most) {
    const fs::path old = path.string() + ".1";
    if (::rename(path.c_str(), old.c_str()) != 0) return os_error(path, "rename", errno);
    info.st_size = 0;
  }
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return os_error(path, "open", errno);
  if (!make_private(file)) {
    const int problem = errno;
    ::close(file);
    return os_error(path, "take the rights of others from", problem);
  }
  const std::string whole = (is_torn(file, info.st_size) ? "\n" : "") + lines;
  const ssize_t written = ::write(file, whole.data(), whole.size());  // one call: a line is never torn by another
  int problem = written < 0 ? errno : written == static_cast<ssize_t>(whole.size()) ? 0 : ENOSPC;
  if (problem == 0 && options.is_synced && ::fdatasync(file) != 0) problem = errno;
  ::close(file);
  return problem == 0 ? Status() : Status(os_error(path, "write", problem));
}

}  // namespace mangrove
