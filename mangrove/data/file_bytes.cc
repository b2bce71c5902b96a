#include "mangrove/data/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mangrove/base/check.h"

namespace mangrove::data {
namespace {

Error map_error(const fs::path& path, const std::string& reason, int number) {
  Code code = Code::data_loss;
  if (number == ENOENT || number == ENOTDIR) code = Code::not_found;
  if (number == EACCES || number == EPERM) code = Code::permission_denied;
  if (number == EMFILE || number == ENFILE || number == ENOMEM) code = Code::resource_exhausted;
  return make_error(code, path.string() + ": cannot read: " + reason);
}

/// An open file, and where it is mapped.
struct MappedFile {
  explicit MappedFile(int descriptor) : file(descriptor) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (start != MAP_FAILED) ::munmap(start, size);
    ::close(file);
  }

  const int file;
  void* start = MAP_FAILED;
  std::size_t size = 0;
};

}  // namespace

Result<FileBytes> FileBytes::map(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hold us up
  if (file < 0) return map_error(path, std::strerror(errno), errno);
  const auto mapped = std::make_shared<MappedFile>(file);
  struct stat info {};
  if (::fstat(file, &info) != 0) return map_error(path, std::strerror(errno), errno);
  if (!S_ISREG(info.st_mode)) return map_error(path, "not a regular file", 0);
  mapped->size = static_cast<std::size_t>(info.st_size);
  if (mapped->size == 0) return FileBytes();  // an empty range cannot be mapped
  mapped->start = ::mmap(nullptr, mapped->size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped->start == MAP_FAILED) return map_error(path, std::strerror(errno), errno);
  FileBytes content(mapped, {static_cast<const std::uint8_t*>(mapped->start), mapped->size});
  content.file_ = file;
  content.path_ = path.string();
  return content;
}

FileBytes FileBytes::of(std::string content) {
  const auto owner = std::make_shared<const std::string>(std::move(content));
  return FileBytes(owner, {reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size()});
}

Status FileBytes::copy(std::size_t offset, std::span<std::uint8_t> out) const {
  MG_CHECK(offset <= bytes_.size() && out.size() <= bytes_.size() - offset);
  if (file_ < 0) {
    std::ranges::copy(bytes_.subspan(offset, out.size()), out.begin());
    return {};
  }
  while (!out.empty()) {
    const ::ssize_t count = ::pread(file_, out.data(), out.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return make_error(Code::data_loss, path_ + ": byte " + std::to_string(offset) + " of " +
                                             std::to_string(bytes_.size()) + " cannot be read any more: " +
                                             (count < 0 ? std::strerror(errno) : "the file has become shorter"));
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace mangrove::data
