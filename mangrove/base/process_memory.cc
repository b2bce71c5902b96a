#include "mangrove/base/process_memory.h"

#ifdef __GLIBC__
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

#include "mangrove/base/control_group.h"
#include "mangrove/base/sanitizer.h"

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

// The pages that lie in this memory as a whole.
std::span<std::byte> whole_pages(std::span<std::byte> memory) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* first = memory.data();
  std::size_t space = memory.size();
  if (std::align(page, page, first, space) == nullptr) return {};
  return {static_cast<std::byte*>(first), space / page * page};
}

}  // namespace

Bytes resident_memory() {
  return kilobytes_after(text_of("/proc/self/status"), "VmRSS:");
}

Bytes needed_memory() {
  constexpr Bytes kCodeAtWork = 16'000'000;
  const std::string status = text_of("/proc/self/status");
  return kilobytes_after(status, "RssAnon:") + kilobytes_after(status, "RssShmem:") +
         std::min(kCodeAtWork, kilobytes_after(status, "RssFile:"));
}

Bytes peak_resident_memory() {
  return kilobytes_after(text_of("/proc/self/status"), "VmHWM:");
}

void release_freed_memory() {
#ifdef __GLIBC__
  // A sanitizer brings an allocator of its own; trimming glibc's, which nobody set up then, from two threads at once
  // crashes.
  if (!kSanitized) malloc_trim(0);
#endif
}

void take_pages(std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  // Where a share of a processor is rationed (containers, boards of a testbed), the system lets a call end and then
  // stops all threads of the process until its time is paid for: seconds without heartbeats, were it one call.
  constexpr std::size_t kPiece = std::size_t{8} << 20;
  for (std::span<std::byte> left = whole_pages(memory); !left.empty();
       left = left.subspan(std::min(kPiece, left.size())))
    ::madvise(left.data(), std::min(kPiece, left.size()), MADV_POPULATE_WRITE);
#else
  static_cast<void>(memory);
#endif
}

void release_zeros(std::span<std::byte> memory) {
  const std::span<std::byte> pages = whole_pages(memory);
  if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
}

Bytes memory_limit(const fs::path& root) {
  Bytes least = kilobytes_after(text_of(root / "proc/meminfo"), "MemTotal:");
  if (least == 0) return 0;
  for (const OwnControlGroup& group : control_groups("memory", root))
    if (const auto limit = limit_in(group.folder / (group.version == 2 ? "memory.max" : "memory.limit_in_bytes")))
      least = std::min(least, *limit);
  return least;
}

}  // namespace mangrove
