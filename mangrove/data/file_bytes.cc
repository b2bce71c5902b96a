#include "mangrove/data/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mangrove/base/check.h"
#include "mangrove/data/open_without_links.h"

namespace mangrove::data {
namespace {

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a pipe must not hold us up

Error read_error(const fs::path& path, const std::string& reason, int number) {
  Code code = Code::data_loss;
  if (number == ENOENT || number == ENOTDIR) code = Code::not_found;
  if (number == EACCES || number == EPERM) code = Code::permission_denied;
  if (number == EMFILE || number == ENFILE || number == ENOMEM) code = Code::resource_exhausted;
  return make_error(code, path.string() + ": cannot read: " + reason);
}

}  // namespace

struct FileBytes::OpenFile {
  OpenFile(int opened, std::string its_path) : descriptor(opened), path(std::move(its_path)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(descriptor); }

  const int descriptor;
  const std::string path;
};

Result<FileBytes> FileBytes::open(const fs::path& path) {
  return take(::open(path.c_str(), kFlags), path);
}

Result<FileBytes> FileBytes::open_without_links(const fs::path& path) {
  const int descriptor = data::open_without_links(path, kFlags);
  if (descriptor < 0 && errno == ELOOP)
    return make_error(Code::permission_denied, path.string() + ": a link has come onto the way to it");
  return take(descriptor, path);
}

/// descriptor: below 0: errno says why there is none.
Result<FileBytes> FileBytes::take(int descriptor, const fs::path& path) {
  if (descriptor < 0) return read_error(path, std::strerror(errno), errno);
  FileBytes content;
  content.file_ = std::make_shared<const OpenFile>(descriptor, path.string());
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return read_error(path, std::strerror(errno), errno);
  if (!S_ISREG(info.st_mode)) return read_error(path, "not a regular file", 0);
  content.size_ = static_cast<std::size_t>(info.st_size);
  return content;
}

FileBytes FileBytes::of(std::string content) {
  FileBytes bytes;
  bytes.size_ = content.size();
  bytes.memory_ = std::make_shared<const std::string>(std::move(content));
  return bytes;
}

Status FileBytes::copy(std::size_t offset, std::span<std::uint8_t> out) const {
  MG_CHECK(offset <= size_ && out.size() <= size_ - offset);
  if (file_ == nullptr) {
    if (!out.empty()) std::ranges::copy(bytes_of(*memory_).subspan(offset, out.size()), out.begin());
    return {};
  }
  while (!out.empty()) {
    const ::ssize_t count = ::pread(file_->descriptor, out.data(), out.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return make_error(Code::data_loss, file_->path + ": byte " + std::to_string(offset) + " of " +
                                             std::to_string(size_) + " cannot be read any more: " +
                                             (count < 0 ? std::strerror(errno) : "the file has become shorter"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::string> FileBytes::part(std::size_t offset, std::size_t count) const {
  std::string content(count, '\0');
  MG_RETURN_IF_ERROR(copy(offset, {reinterpret_cast<std::uint8_t*>(content.data()), content.size()}));
  return content;
}

}  // namespace mangrove::data
