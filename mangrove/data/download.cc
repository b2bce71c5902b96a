#include "mangrove/data/download.h"

#include <algorithm>
#include <vector>

#include "mangrove/data/file_bytes.h"
#include "mangrove/data/gzip.h"
#include "mangrove/data/sha256.h"
#include "mangrove/data/tar.h"

namespace mangrove::data {
namespace {

constexpr std::size_t kMaxUnpackedArchive = std::size_t{1} << 30;

/// The first mirror that answered well is asked first for the next file too, so a dead one costs its timeout once.
class MirrorList {
 public:
  explicit MirrorList(std::span<const std::string_view> mirrors) : mirrors_(mirrors) {}

  std::size_t size() const { return mirrors_.size(); }
  std::string at(std::size_t attempt) const { return std::string(mirrors_[(first_ + attempt) % size()]); }
  void prefer(std::size_t attempt) { first_ = (first_ + attempt) % size(); }

 private:
  std::span<const std::string_view> mirrors_;
  std::size_t first_ = 0;
};

Status check_content(std::string_view content, Bytes bytes, std::string_view checksum) {
  if (bytes != 0 && content.size() != static_cast<std::size_t>(bytes))
    return make_error(Code::data_loss,
                      content.size() < static_cast<std::size_t>(bytes)
                          ? std::to_string(content.size()) + " bytes found, " + std::to_string(bytes) + " expected"
                          : "more than the " + std::to_string(bytes) + " bytes expected");
  if (checksum.empty()) return {};
  if (const std::string found = sha256(bytes_of(content)); found != checksum)
    return make_error(Code::data_loss, "checksum " + found + " found, " + std::string(checksum) + " expected");
  return {};
}

Result<std::string> unpack(const RemoteFile& file, const std::string& compressed) {
  MG_TRY(std::string content, gunzip(bytes_of(compressed), static_cast<std::size_t>(file.bytes) + 1));
  MG_RETURN_IF_ERROR(check_content(content, file.bytes, file.sha256));
  return content;
}

/// NAME with the suffix, of the first mirror that has it, made to content by `check`.
Result<std::string> fetch_checked(std::string_view name, std::string_view suffix, MirrorList& mirrors,
                                  const std::function<Result<std::string>(std::string)>& check,
                                  const std::function<void(Bytes)>& received, const std::stop_token& stop,
                                  const UrlOptions& options) {
  std::string reasons;
  Code code = Code::unavailable;
  for (std::size_t attempt = 0; attempt < mirrors.size(); ++attempt) {
    const std::string mirror = mirrors.at(attempt);
    Result<std::string> content = read_url(mirror + std::string(name) + std::string(suffix), options, received, stop);
    if (content.ok()) content = check(*std::move(content));
    if (content.ok()) {
      mirrors.prefer(attempt);
      return content;
    }
    if (content.code() == Code::cancelled) return content;
    if (content.code() == Code::data_loss) code = Code::data_loss;
    reasons += (reasons.empty() ? "" : "; ") + url_host(mirror) + ": " + content.error().message;
  }
  if (code == Code::unavailable) return make_error(code, "no mirror could be reached: " + reasons);
  return make_error(code, std::string(name) + ": no mirror has the right file: " + reasons);
}

bool is_right(const RemoteFile& file, const fs::path& path) {
  const auto opened = FileBytes::open(path);
  if (!opened.ok() || opened->size() == 0) return false;
  const auto content = opened->all();
  return content.ok() && check_content(*content, file.bytes, file.sha256).ok();
}

/// What all the steps of fetching a data set need.
struct Fetch {
  const RemoteDataset& dataset;
  fs::path target;
  MirrorList mirrors;
  const DownloadProgress& progress;
  std::stop_token stop;
  UrlOptions options;
};

Status fetch_one_by_one(Fetch& fetch, const std::vector<const RemoteFile*>& wanted) {
  Bytes done = 0, total = 0;
  for (const RemoteFile* file : wanted) total += file->gzip_bytes;
  for (const RemoteFile* file : wanted) {
    const auto received = [&](Bytes bytes) {
      if (fetch.progress) fetch.progress(done + std::min(bytes, file->gzip_bytes), total);
    };
    // gzip adds less than this to what cannot be compressed
    fetch.options.max_bytes = file->bytes + file->bytes / 1000 + KiB(1);
    MG_TRY(const std::string content, fetch_checked(
                                          file->name, ".gz", fetch.mirrors,
                                          [&](const std::string& compressed) { return unpack(*file, compressed); },
                                          received, fetch.stop, fetch.options));
    MG_RETURN_IF_ERROR(write_file_atomically(fetch.target / file->name, content));
    done += file->gzip_bytes;
  }
  if (fetch.progress) fetch.progress(done, total);
  return {};
}

Status fetch_archive(Fetch& fetch, const std::vector<const RemoteFile*>& wanted) {
  const RemoteArchive& archive = fetch.dataset.archive;
  fetch.options.max_bytes = archive.bytes;
  const auto received = [&](Bytes bytes) {
    if (fetch.progress) fetch.progress(bytes, archive.bytes);
  };
  const auto check = [&](std::string compressed) -> Result<std::string> {
    MG_RETURN_IF_ERROR(check_content(compressed, archive.bytes, archive.sha256));
    return compressed;
  };
  MG_TRY(std::string compressed,
         fetch_checked(archive.name, "", fetch.mirrors, check, received, fetch.stop, fetch.options));
  MG_TRY(const std::string tar, gunzip(bytes_of(compressed), kMaxUnpackedArchive).context(std::string(archive.name)));
  compressed = {};
  std::vector<std::string_view> contents;
  for (const RemoteFile* file : wanted) {
    MG_TRY(const std::string_view content, find_in_tar(tar, file->name).context(std::string(archive.name)));
    MG_RETURN_IF_ERROR(check_content(content, file->bytes, file->sha256)
                           .context(std::string(archive.name) + ": " + std::string(file->name)));
    contents.push_back(content);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    MG_RETURN_IF_ERROR(write_file_atomically(fetch.target / wanted[i]->name, contents[i]));
  return {};
}

}  // namespace

Status fetch_files(const RemoteDataset& dataset, const fs::path& folder, const DownloadProgress& progress,
                   std::stop_token stop, const UrlOptions& options) {
  const fs::path target = folder / dataset.name;
  std::vector<const RemoteFile*> wanted;
  for (const RemoteFile& file : dataset.files)
    if (!is_right(file, target / file.name)) wanted.push_back(&file);
  if (wanted.empty()) return {};
  MG_RETURN_IF_ERROR(make_writable_folder(target));
  Fetch fetch{dataset, target, MirrorList(dataset.mirrors), progress, std::move(stop), options};
  const bool one_by_one = dataset.archive.name.empty();
  return (one_by_one ? fetch_one_by_one(fetch, wanted) : fetch_archive(fetch, wanted))
      .context(std::string(dataset.name));
}

std::optional<fs::path> local_file(const fs::path& folder, std::string_view name) {
  for (const char* suffix : {"", ".gz"}) {
    const fs::path path = folder / (std::string(name) + suffix);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

}  // namespace mangrove::data
