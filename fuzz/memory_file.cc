#include "fuzz/memory_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "mangrove/base/check.h"

namespace mangrove::fuzz {

MemoryFile::MemoryFile(std::string_view content) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  MG_CHECK(descriptor_ >= 0);
  while (!content.empty()) {
    const ::ssize_t written = ::write(descriptor_, content.data(), content.size());
    MG_CHECK(written > 0);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

std::filesystem::path MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFolder::MemoryFolder(const std::filesystem::path& file, std::string_view content) {
  std::string pattern = "/dev/shm/mangrove-fuzz-XXXXXX";
  MG_CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
  std::filesystem::create_directories((path_ / file).parent_path());
  std::ofstream(path_ / file, std::ios::binary) << content;
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mangrove::fuzz
