#include "mangrove/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace mangrove {

Error os_error(const fs::path& path, const char* what, int number) {
  Code code = Code::internal;
  switch (number) {
    case ENOENT:
      code = Code::not_found;
      break;
    case ENOTDIR:
      code = Code::not_found;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Code::permission_denied;
      break;
    case EEXIST:
      code = Code::already_exists;
      break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
      code = Code::resource_exhausted;
      break;
    case EIO:
      code = Code::data_loss;
      break;
    case EISDIR:
      code = Code::invalid_argument;
      break;
    default:
      break;
  }
  return make_error(code, path.string() + ": cannot " + what + ": " + std::strerror(number));
}

namespace {

/// Closes on every way out; close errors are reported by the caller where they matter.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status write_all(int fd, const fs::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error(path, "write", errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0 && errno != EINVAL) return os_error(path, "sync", errno);
  return {};
}

}  // namespace

Result<InputFile> InputFile::open(const fs::path& path) {
  InputFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor_ < 0) return os_error(path, "open", errno);
  struct stat info {};
  if (::fstat(file.descriptor_, &info) != 0) return os_error(path, "stat", errno);
  if (S_ISDIR(info.st_mode)) return os_error(path, "read", EISDIR);
  file.size_ = info.st_size;
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> read_file(const fs::path& path) {
  MG_TRY(const InputFile file, InputFile::open(path));
  std::string content;
  constexpr std::size_t kLeast = 4096;  // files of /proc say that they are empty
  content.resize(std::max(static_cast<std::size_t>(file.size()) + 1, kLeast));  // one more, to see that it ends there
  std::size_t filled = 0;
  for (;;) {
    if (filled == content.size()) content.resize(content.size() + kLeast);  // of a pipe, or a file that grows
    const ssize_t got = ::read(file.descriptor(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(path, "read", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

namespace {

/// Makes a new file beside `path`. A link or a file of a killed process that has its name already is not touched.
struct TemporaryFile {
  TemporaryFile(const fs::path& path, mode_t mode) {
    constexpr int kTries = 100;
    static std::atomic<unsigned> made = 0;  // threads may write to one path
    for (int i = 0; i < kTries; ++i) {
      name = path.string() + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(made.fetch_add(1));
      file.fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
      if (file.fd >= 0 || errno != EEXIST) return;
    }
  }

  std::string name;
  Descriptor file{-1};
};

Status write_and_rename(const fs::path& path, std::string_view content, mode_t mode) {
  std::string temporary;
  Status status;
  {
    const TemporaryFile made(path, mode);
    if (made.file.fd < 0) return os_error(path, "write", errno);
    temporary = made.name;
    status = write_all(made.file.fd, path, content);
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = os_error(path, "rename", errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

Status write_file_atomically(const fs::path& path, std::string_view content) {
  return write_and_rename(path, content, 0644);
}

Status write_private_file(const fs::path& path, std::string_view content) {
  MG_RETURN_IF_ERROR(write_and_rename(path, content, 0600));
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor folder{::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd < 0) return os_error(parent, "open", errno);
  return ::fsync(folder.fd) == 0 || errno == EINVAL ? Status() : Status(os_error(parent, "sync", errno));
}

Status make_writable_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code unreadable;
  if (fs::exists(path, unreadable) && !fs::is_directory(path, unreadable)) return os_error(path, "make folder", EEXIST);
  if (error) return os_error(path, "make folder", error.value());
  const fs::path probe = path / (".write-test." + std::to_string(::getpid()));
  MG_RETURN_IF_ERROR(write_file_atomically(probe, "").context(path.string() + ": folder is not writable"));
  fs::remove(probe, error);
  return {};
}

}  // namespace mangrove
