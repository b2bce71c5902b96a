#include "mangrove/infer/network_cache.h"

#include <algorithm>
#include <vector>

#include "mangrove/base/log.h"
#include "mangrove/data/sha256.h"

namespace mangrove::infer {

std::optional<std::string> NetworkCache::find(const std::string& sha256) const {
  if (folder_.empty()) return std::nullopt;
  Result<std::string> network = read_file(path(sha256));
  if (!network.ok()) return std::nullopt;
  std::error_code ignored;
  if (data::sha256(*network) != sha256) {
    log_warn("a kept network is damaged, and is fetched again", {{"file", path(sha256).string()}});
    fs::remove(path(sha256), ignored);
    return std::nullopt;
  }
  fs::last_write_time(path(sha256), fs::file_time_type::clock::now(), ignored);  // used
  return std::move(*network);
}

Status NetworkCache::keep(const std::string& sha256, std::string_view network) const {
  const auto bytes = static_cast<Bytes>(network.size());
  if (folder_.empty() || bytes > most_) return {};
  MG_RETURN_IF_ERROR(make_writable_folder(folder_));
  make_room(bytes);
  return write_file_atomically(path(sha256), network);
}

/// For one of so many bytes. What another process removes meanwhile is gone too.
void NetworkCache::make_room(Bytes bytes) const {
  struct File {
    fs::file_time_type used;
    Bytes bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::error_code problem;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
    std::error_code gone;
    if (entry->path().extension() != ".onnx") continue;
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

}  // namespace mangrove::infer
