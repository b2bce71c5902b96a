#include "mangrove/identity/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "mangrove/identity/digest.h"

namespace mangrove::identity {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status write_and_sync(int fd, const fs::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t done = ::write(fd, content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return os_error(path, "write", errno);
    content.remove_prefix(static_cast<std::size_t>(done));
  }
  if (::fsync(fd) != 0) return os_error(path, "sync", errno);
  return {};
}

Status sync_folder(const fs::path& folder) {
  const Descriptor open_folder(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open_folder.get() < 0) return os_error(folder, "open", errno);
  if (::fsync(open_folder.get()) != 0 && errno != EINVAL) return os_error(folder, "sync", errno);
  return {};
}

}  // namespace

Status write_secret_file(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + ".tmp." + random_hex(8);
  Status status;
  {
    // O_EXCL follows no link, and rename() replaces one instead of what it leads to
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0) return os_error(path, "write", errno);
    status = write_and_sync(file.get(), path, content);
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = os_error(path, "rename", errno);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return sync_folder(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

Result<std::string> read_secret_file(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return os_error(path, "open", errno);
  if (S_ISREG(info.st_mode) && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return make_error(
        Code::permission_denied,
        path.string() + " holds a key, and others than its owner may use it; run: chmod 600 " + path.string());
  return read_file(path);
}

Status make_secret_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  MG_RETURN_IF_ERROR(make_writable_folder(path));
  if (::chmod(path.c_str(), S_IRWXU) != 0) return os_error(path, "chmod", errno);
  return {};
}

}  // namespace mangrove::identity
