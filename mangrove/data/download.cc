#include "mangrove/data/download.h"

#include <algorithm>
#include <vector>

#include "mangrove/data/file_bytes.h"
#include "mangrove/data/gzip.h"
#include "mangrove/data/sha256.h"

namespace mangrove::data {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& content) {
  return {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()};
}

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

Result<std::string> unpack(const RemoteFile& file, const std::string& compressed) {
  MG_TRY(std::string content, gunzip(bytes_of(compressed), static_cast<std::size_t>(file.bytes) + 1));
  if (content.size() != static_cast<std::size_t>(file.bytes))
    return make_error(Code::data_loss,
                      content.size() < static_cast<std::size_t>(file.bytes)
                          ? std::to_string(content.size()) + " bytes found, " + std::to_string(file.bytes) + " expected"
                          : "more than the " + std::to_string(file.bytes) + " bytes expected");
  if (const std::string found = sha256(bytes_of(content)); found != file.sha256)
    return make_error(Code::data_loss, "checksum " + found + " found, " + std::string(file.sha256) + " expected");
  return content;
}

/// From the first mirror that has the right file.
Result<std::string> fetch_file(const RemoteFile& file, MirrorList& mirrors, const std::function<void(Bytes)>& received,
                               const std::stop_token& stop, UrlOptions options) {
  // gzip adds less than this to what cannot be compressed
  options.max_bytes = file.bytes + file.bytes / 1000 + KiB(1);
  std::string reasons;
  Code code = Code::unavailable;
  for (std::size_t attempt = 0; attempt < mirrors.size(); ++attempt) {
    const std::string mirror = mirrors.at(attempt);
    Result<std::string> content = read_url(mirror + std::string(file.name) + ".gz", options, received, stop);
    if (content.ok()) content = unpack(file, *content);
    if (content.ok()) {
      mirrors.prefer(attempt);
      return content;
    }
    if (content.code() == Code::cancelled) return content;
    if (content.code() == Code::data_loss) code = Code::data_loss;
    reasons += (reasons.empty() ? "" : "; ") + url_host(mirror) + ": " + content.error().message;
  }
  if (code == Code::unavailable) return make_error(code, "no mirror could be reached: " + reasons);
  return make_error(code, std::string(file.name) + ": no mirror has the right file: " + reasons);
}

bool is_right(const RemoteFile& file, const fs::path& path) {
  const auto content = FileBytes::map(path);
  return content.ok() && content->bytes().size() == static_cast<std::size_t>(file.bytes) &&
         sha256(content->bytes()) == file.sha256;
}

}  // namespace

Status fetch_files(const RemoteDataset& dataset, const fs::path& folder, const DownloadProgress& progress,
                   std::stop_token stop, const UrlOptions& options) {
  const fs::path target = folder / dataset.name;
  std::vector<const RemoteFile*> wanted;
  Bytes total = 0;
  for (const RemoteFile& file : dataset.files) {
    if (is_right(file, target / file.name)) continue;
    wanted.push_back(&file);
    total += file.gzip_bytes;
  }
  if (wanted.empty()) return {};
  MG_RETURN_IF_ERROR(make_writable_folder(target));
  MirrorList mirrors(dataset.mirrors);
  Bytes done = 0;
  for (const RemoteFile* file : wanted) {
    const auto received = [&](Bytes bytes) {
      if (progress) progress(done + std::min(bytes, file->gzip_bytes), total);
    };
    MG_TRY(const std::string content,
           fetch_file(*file, mirrors, received, stop, options).context(std::string(dataset.name)));
    MG_RETURN_IF_ERROR(write_file_atomically(target / file->name, content));
    done += file->gzip_bytes;
  }
  if (progress) progress(done, total);
  return {};
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
