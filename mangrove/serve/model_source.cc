#include "mangrove/serve/model_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "mangrove/base/parse_number.h"
#include "mangrove/base/printable.h"

namespace mangrove::serve {
namespace {

constexpr const char* kModelFile = "model.onnx";
constexpr const char* kLabelsFile = "labels.txt";
constexpr std::size_t kLongestModelName = 128;

bool may_be_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/// The folders in a folder. None where it cannot be read.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) folders.push_back(entry->path());
  }
  return folders;
}

/// Nothing: the folder is no version.
std::optional<std::int64_t> version_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const Result<std::int64_t> version = parse_whole_number(name, 1, std::numeric_limits<std::int64_t>::max() - 1);
  std::error_code unreadable;
  if (!version.ok() || std::to_string(*version) != name || !fs::exists(folder / kModelFile, unreadable)) return {};
  return *version;
}

std::optional<std::int64_t> newest_version(const fs::path& folder) {
  std::optional<std::int64_t> newest;
  for (const fs::path& entry : folders_in(folder)) newest = std::max(newest, version_of(entry));
  return newest;
}

Result<FileState> state_of(const fs::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return os_error(file, "read", errno);
  constexpr std::int64_t kSecond = 1'000'000'000;
  return FileState{status.st_ino, status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec, status.st_size};
}

}  // namespace

Status check_model_name(const std::string& name) {
  const bool is_good = !name.empty() && name.size() <= kLongestModelName && name.front() != '.' &&
                       std::ranges::all_of(name, may_be_in_name);
  if (is_good) return {};
  return make_error(Code::invalid_argument,
                    fmt::format("'{}' is no name of a model: expected 1 to {} of the characters a-z A-Z 0-9 . _ -, "
                                "and no point at the beginning",
                                printable(cut_short(name, kLongestModelName)), kLongestModelName));
}

Result<FoundModel> find_newest(const ModelSource& source) {
  FoundModel found{.options = source.options, .version = {}, .state = {}};
  if (!source.folder.empty()) {
    found.version = newest_version(source.folder);
    if (!found.version)
      return make_error(Code::not_found, fmt::format("{}: no version of a model; expected {}", source.folder.string(),
                                                     (source.folder / "1" / kModelFile).string()));
    found.options.file = (source.folder / std::to_string(*found.version) / kModelFile).string();
    const fs::path labels = source.folder / kLabelsFile;
    std::error_code unreadable;
    if (fs::exists(labels, unreadable)) found.options.labels = labels.string();
  }
  MG_TRY(found.state, state_of(found.options.file));
  return found;
}

Status keep_version(const fs::path& folder, std::int64_t version, std::string_view network) {
  const fs::path kept = folder / std::to_string(version), begun = folder / (".new-" + std::to_string(version));
  std::error_code error;
  if (fs::exists(kept, error)) return make_error(Code::already_exists, kept.string() + ": it is there already");
  MG_RETURN_IF_ERROR(make_writable_folder(begun));
  MG_RETURN_IF_ERROR(write_private_file(begun / kModelFile, network));
  fs::rename(begun, kept, error);
  if (error) return os_error(kept, "write", error.value());
  return {};
}

Result<std::vector<std::string>> models_in(const fs::path& repository) {
  std::error_code unreadable;
  if (!fs::is_directory(repository, unreadable))
    return make_error(Code::not_found, repository.string() + ": no such folder");
  std::vector<std::string> names;
  for (const fs::path& folder : folders_in(repository)) {
    if (!newest_version(folder)) continue;
    names.push_back(folder.filename().string());
    MG_RETURN_IF_ERROR(check_model_name(names.back()).context(repository.string()));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace mangrove::serve
