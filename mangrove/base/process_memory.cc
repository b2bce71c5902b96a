#include "mangrove/base/process_memory.h"

// A sanitizer brings an allocator of its own; trimming glibc's, which nobody set up then, from two threads at once
// crashes.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MG_TRIMS_MALLOC 1
#include <malloc.h>
#endif

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace mangrove {
namespace {

// Files of /proc and /sys say that they are empty, so they are read to their end.
std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// "VmHWM:    1234 kB" in /proc/self/status or /proc/meminfo.
Bytes kilobytes_after(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t digit = line.find_first_of("0123456789");
    Bytes value = 0;
    if (digit != std::string::npos) std::from_chars(line.data() + digit, line.data() + line.size(), value);
    return value * 1024;
  }
  return 0;
}

// A limit file holds a number, or "max", or in version 1 a number near 2^63 for none.
std::optional<Bytes> limit_in(const fs::path& file) {
  constexpr Bytes kNone = Bytes{1} << 60;
  const std::string text = text_of(file);
  Bytes value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0 || value >= kNone) return {};
  return value;
}

// The least limit of the group at `path` and those above it.
Bytes least_limit(const fs::path& mount, const fs::path& path, const char* file, Bytes least) {
  for (fs::path group = path.relative_path();; group = group.parent_path()) {
    if (const auto limit = limit_in(mount / group / file)) least = std::min(least, *limit);
    if (group.empty()) return least;
  }
}

// The pages that lie in this memory as a whole.
void advise_whole_pages(std::span<std::byte> memory, int advice) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* first = memory.data();
  std::size_t space = memory.size();
  if (std::align(page, page, first, space) != nullptr) ::madvise(first, space / page * page, advice);
}

}  // namespace

Bytes resident_memory() {
  return kilobytes_after(text_of("/proc/self/status"), "VmRSS:");
}

Bytes peak_resident_memory() {
  return kilobytes_after(text_of("/proc/self/status"), "VmHWM:");
}

void release_freed_memory() {
#if defined(MG_TRIMS_MALLOC)
  malloc_trim(0);
#endif
}

void take_pages(std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  advise_whole_pages(memory, MADV_POPULATE_WRITE);
#else
  static_cast<void>(memory);
#endif
}

void release_zeros(std::span<std::byte> memory) {
  advise_whole_pages(memory, MADV_DONTNEED);
}

Bytes memory_limit(const fs::path& root) {
  Bytes least = kilobytes_after(text_of(root / "proc/meminfo"), "MemTotal:");
  if (least == 0) return 0;
  std::istringstream groups(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // "0::/path" in version 2, "9:memory:/path" in version 1
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      least = least_limit(root / "sys/fs/cgroup", path, "memory.max", least);
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = least_limit(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes", least);
    }
  }
  return least;
}

}  // namespace mangrove
