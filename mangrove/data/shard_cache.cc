#include "mangrove/data/shard_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/folder_lock.h"
#include "mangrove/data/sha256.h"
#include "mangrove/data/shard_file.h"

namespace mangrove::data {
namespace {

constexpr std::string_view kPartial = "partial-";
constexpr std::size_t kNameDigits = 16;  // of the SHA-256 that names a data set

/// They come from another device: a name must not lead out of the folder.
Status check(const std::vector<ShardOutline>& outlines) {
  std::set<std::string> names;
  for (const ShardOutline& outline : outlines) {
    const bool is_name = outline.name.ends_with(".shard") && outline.name.find('/') == std::string::npos;
    const bool fits = !outline.head.empty() && static_cast<Bytes>(outline.head.size()) < outline.size;
    if (!is_name || !fits || !names.insert(outline.name).second)
      return make_error(Code::data_loss, "'" + outline.name + "' of " + std::to_string(outline.size) +
                                             " bytes is not a shard, or is there twice");
  }
  if (outlines.empty()) return make_error(Code::data_loss, "there are no shards");
  return {};
}

std::string name_of(const std::vector<ShardOutline>& outlines) {
  std::string all;
  for (const ShardOutline& outline : outlines) all += outline.name + '\n' + outline.head;
  return sha256(all).substr(0, kNameDigits);
}

/// Nothing: this shard is not there.
std::optional<FileBytes> find_shard(const fs::path& path, const ShardOutline& outline) {
  const Result<ShardFile> file = ShardFile::open(path);
  if (!file.ok() || file->size() != outline.size) return std::nullopt;
  if (const Result<std::string> head = file->head(); !head.ok() || *head != outline.head) return std::nullopt;
  return file->bytes();
}

/// A file open for writing; closed in the end.
class OutputFile {
 public:
  /// errors: those of opening; told by what is done with it.
  OutputFile(const fs::path& path, int flags)
      : path_(path),
        file_(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600)),
        problem_(file_ < 0 ? errno : 0) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (file_ >= 0) ::close(file_);
  }

  Status write(Bytes offset, std::string_view part) const {
    if (file_ < 0) return os_error(path_, "open", problem_);
    while (!part.empty()) {
      const ::ssize_t count = ::pwrite(file_, part.data(), part.size(), static_cast<::off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return os_error(path_, "write", errno);
      part.remove_prefix(static_cast<std::size_t>(count));
      offset += count;
    }
    return {};
  }
  Status resize(Bytes size) const {
    if (file_ < 0) return os_error(path_, "open", problem_);
    return ::ftruncate(file_, static_cast<::off_t>(size)) == 0 ? Status() : Status(os_error(path_, "resize", errno));
  }
  Status sync() const {
    if (file_ < 0) return os_error(path_, "open", problem_);
    return ::fdatasync(file_) == 0 ? Status() : Status(os_error(path_, "sync", errno));
  }

 private:
  const fs::path path_;
  const int file_;
  const int problem_;
};

}  // namespace

/// Goes with the object.
struct ShardCache::PartialFolder {
  PartialFolder(fs::path folder, FolderLock its) : path(std::move(folder)), lock(std::move(its)) {}
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const fs::path path;
  const FolderLock lock;
};

Result<ShardCache> ShardCache::open(std::vector<ShardOutline> outlines, const fs::path& own, const fs::path& root) {
  MG_RETURN_IF_ERROR(check(outlines).context("the list of the shards"));
  ShardCache shards;
  shards.cache_ = fs::current_path() / root / name_of(outlines);
  shards.outlines_ = std::move(outlines);
  std::vector<fs::path> paths;  // "": missing
  for (const ShardOutline& outline : shards.outlines_) {
    fs::path& path = paths.emplace_back();
    std::optional<FileBytes>& file = shards.files_.emplace_back();
    for (const fs::path& folder : {fs::current_path() / own, shards.cache_}) {
      if (file) break;
      file = find_shard(folder / outline.name, outline);
      if (file) path = folder / outline.name;
    }
  }
  const auto is_beside = [&](const fs::path& path) { return path.parent_path() == paths.front().parent_path(); };
  shards.folder_ = paths.front().parent_path();
  if (!paths.front().empty() && std::ranges::all_of(paths, is_beside)) return shards;
  MG_RETURN_IF_ERROR(shards.make_partial_folder());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) MG_RETURN_IF_ERROR(shards.add_missing(shards.outlines_[i]));
    std::error_code problem;
    if (!paths[i].empty()) fs::create_symlink(paths[i], shards.folder_ / shards.outlines_[i].name, problem);
    if (problem) return os_error(shards.folder_, "link into it", problem.value());
  }
  return shards;
}

/// Those that were left by processes that were killed are removed.
Status ShardCache::make_partial_folder() {
  MG_RETURN_IF_ERROR(make_writable_folder(cache_));
  MG_TRY(const FolderLock alone, FolderLock::take(cache_, /*waits=*/true));  // nobody is making or removing one
  std::error_code problem;
  for (fs::directory_iterator entry(cache_, problem), end; !problem && entry != end; entry.increment(problem)) {
    if (!entry->path().filename().string().starts_with(kPartial)) continue;
    std::error_code ignored;
    if (FolderLock::take(entry->path(), /*waits=*/false).ok()) fs::remove_all(entry->path(), ignored);
  }
  std::string pattern = (cache_ / (std::string(kPartial) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) return os_error(cache_, "make a folder in it", errno);
  folder_ = pattern;
  MG_TRY(FolderLock lock, FolderLock::take(folder_, /*waits=*/true));
  partial_ = std::make_shared<PartialFolder>(folder_, std::move(lock));
  return {};
}

Status ShardCache::add_missing(const ShardOutline& outline) const {
  const OutputFile file(folder_ / outline.name, O_WRONLY | O_CREAT | O_EXCL);
  MG_RETURN_IF_ERROR(file.write(0, outline.head));
  return file.resize(outline.size);
}

Result<std::string> ShardCache::read(std::uint32_t shard, Bytes offset, Bytes count) const {
  if (!has(shard)) return make_error(Code::not_found, "shard " + std::to_string(shard) + " has not come");
  return read_part(*files_[shard], offset, count);
}

Status ShardCache::write(std::uint32_t shard, Bytes offset, std::string_view part) {
  MG_CHECK(!has(shard) && offset >= 0 && offset + static_cast<Bytes>(part.size()) <= outlines_[shard].size);
  return OutputFile(folder_ / outlines_[shard].name, O_WRONLY).write(offset, part);
}

Status ShardCache::finish(std::uint32_t shard, const std::string& sha256) {
  const fs::path path = folder_ / outlines_[shard].name, kept = cache_ / outlines_[shard].name;
  MG_TRY(const FileBytes written, FileBytes::open(path));
  MG_TRY(const std::string content, read_part(written, 0, outlines_[shard].size));
  if (data::sha256(content) != sha256 || !content.starts_with(outlines_[shard].head))
    return make_error(Code::data_loss, "it does not have its SHA-256");
  MG_RETURN_IF_ERROR(OutputFile(path, O_WRONLY).sync());
  std::error_code problem;
  fs::rename(path, kept, problem);
  if (!problem) fs::create_symlink(kept, path, problem);
  if (problem) return os_error(kept, "keep the shard", problem.value());
  files_[shard] = written;
  return {};
}

}  // namespace mangrove::data
