#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "mangrove/base/nearest.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/download.h"
#include "mangrove/data/glyphs.h"
#include "mangrove/data/mnist.h"

namespace mangrove::data {
namespace {

/// What the program must know about a data set.
struct Entry {
  std::string_view name;
  std::string_view summary;
  Result<std::shared_ptr<const Dataset>> (*open)(Split split, const fs::path& folder);
  const RemoteDataset* files;  // null: it needs none
};

Result<std::shared_ptr<const Dataset>> open_glyphs(Split split, const fs::path&) {
  return make_glyphs(split);
}

/// The whole list. In the order of the names.
constexpr Entry kDatasets[] = {
    {"glyphs", "digits drawn by the program itself: 60,000 + 10,000 grey images of 28x28, 10 classes; no files",
     &open_glyphs, nullptr},
    {"mnist", "handwritten digits: 60,000 + 10,000 grey images of 28x28, 10 classes", &open_mnist, &kMnistFiles},
};

Result<const Entry*> find(std::string_view name) {
  const auto* entry = std::ranges::find(kDatasets, name, &Entry::name);
  if (entry != std::end(kDatasets)) return entry;
  return make_error(Code::not_found,
                    "unknown data set '" + std::string(name) + "'" + suggestion(name, dataset_names()));
}

/// $HOME, or what the user database says where a service runs without it.
fs::path home_folder() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  std::array<char, 4096> strings{};
  passwd record{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &record, strings.data(), strings.size(), &found) == 0 && found != nullptr)
    return found->pw_dir;
  return fs::temp_directory_path();
}

}  // namespace

fs::path data_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* folder = std::getenv("MANGROVE_DATA"); folder != nullptr && *folder != '\0') return folder;
  return home_folder() / ".cache" / "mangrove" / "data";
}

std::span<const std::string> dataset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& entry : kDatasets) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

Result<std::string> dataset_summary(std::string_view name) {
  MG_TRY(const Entry* entry, find(name));
  return std::string(entry->summary);
}

Result<std::shared_ptr<const Dataset>> open_dataset(std::string_view name, Split split, const fs::path& folder) {
  MG_TRY(const Entry* entry, find(name));
  return entry->open(split, folder);
}

Result<bool> is_present(std::string_view name, const fs::path& folder) {
  MG_TRY(const Entry* entry, find(name));
  if (entry->files == nullptr) return true;
  return std::ranges::all_of(entry->files->files, [&](const RemoteFile& file) {
    return local_file(folder / entry->files->name, file.name).has_value();
  });
}

Status fetch_dataset(std::string_view name, const fs::path& folder, const DownloadProgress& progress,
                     std::stop_token stop) {
  MG_TRY(const Entry* entry, find(name));
  if (entry->files == nullptr) return {};
  return fetch_files(*entry->files, folder, progress, std::move(stop));
}

}  // namespace mangrove::data
