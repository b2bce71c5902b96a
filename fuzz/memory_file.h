#pragma once

#include <filesystem>
#include <string_view>

namespace mangrove::fuzz {

/// A file in memory, for readers that take a path. It exists as long as the object.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  std::filesystem::path path() const;

 private:
  int descriptor_;
};

/// A folder in memory with one file, for readers that look for a name.
class MemoryFolder {
 public:
  MemoryFolder(const std::filesystem::path& file, std::string_view content);
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  ~MemoryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mangrove::fuzz
