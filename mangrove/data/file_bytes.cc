#include "mangrove/data/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mangrove::data {
namespace {

Error map_error(const fs::path& path, const std::string& reason, int number) {
  Code code = Code::data_loss;
  if (number == ENOENT || number == ENOTDIR) code = Code::not_found;
  if (number == EACCES || number == EPERM) code = Code::permission_denied;
  if (number == EMFILE || number == ENFILE || number == ENOMEM) code = Code::resource_exhausted;
  return make_error(code, path.string() + ": cannot read: " + reason);
}

}  // namespace

Result<FileBytes> FileBytes::map(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return map_error(path, std::strerror(errno), errno);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&file, [](const int* fd) { ::close(*fd); });
  struct stat info {};
  if (::fstat(file, &info) != 0) return map_error(path, std::strerror(errno), errno);
  if (!S_ISREG(info.st_mode)) return map_error(path, "not a regular file", 0);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return FileBytes();  // an empty range cannot be mapped
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED) return map_error(path, std::strerror(errno), errno);
  std::shared_ptr<const void> owner(start, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return FileBytes(std::move(owner), {static_cast<const std::uint8_t*>(start), size}, true);
}

FileBytes FileBytes::of(std::string content) {
  const auto owner = std::make_shared<const std::string>(std::move(content));
  return FileBytes(owner, {reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size()}, false);
}

void FileBytes::release(std::span<const std::uint8_t> part) const {
  // Linux maps the pages around one that is touched too, 16 of them.
  constexpr std::uintptr_t kAround = 64 << 10;
  if (!is_mapped_ || part.empty()) return;
  const auto first = reinterpret_cast<std::uintptr_t>(bytes_.data());
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()), end = begin + part.size();
  const std::uintptr_t from = std::max(first, begin / kAround * kAround);
  const std::uintptr_t to = std::min(first + bytes_.size(), (end + kAround - 1) / kAround * kAround);
  madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);  // a hint: its failure changes nothing
}

}  // namespace mangrove::data
