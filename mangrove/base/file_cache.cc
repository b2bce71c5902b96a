#include "mangrove/base/file_cache.h"

#include <algorithm>
#include <vector>

namespace mangrove {

std::optional<std::string> FileCache::find(const std::string& name) const {
  if (folder_.empty()) return std::nullopt;
  Result<std::string> content = read_file(path(name));
  if (!content.ok()) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path(name), fs::file_time_type::clock::now(), ignored);  // used
  return std::move(*content);
}

Status FileCache::keep(const std::string& name, std::string_view content) const {
  const auto bytes = static_cast<Bytes>(content.size());
  if (folder_.empty() || bytes > most_) return {};
  MG_RETURN_IF_ERROR(make_writable_folder(folder_));
  make_room(bytes);
  return write_private_file(path(name), content);
}

void FileCache::remove(const std::string& name) const {
  std::error_code ignored;
  fs::remove(path(name), ignored);
}

/// For one of so many bytes. What another process removes meanwhile is gone too.
void FileCache::make_room(Bytes bytes) const {
  struct File {
    fs::file_time_type used;
    Bytes bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::error_code problem;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
    std::error_code gone;
    if (entry->path().extension() != extension_) continue;
    const auto size = static_cast<Bytes>(entry->file_size(gone));
    const fs::file_time_type used = entry->last_write_time(gone);
    if (!gone) files.push_back({used, size, entry->path()});
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) bytes += file.bytes;
  for (const File& file : files) {
    if (bytes <= most_) return;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    bytes -= file.bytes;
  }
}

}  // namespace mangrove
