#include "mangrove/data/class_folders.h"

#include <algorithm>
#include <charconv>

namespace mangrove::data {
namespace {

Result<std::vector<std::string>> list_classes(const fs::path& folder) {
  MG_TRY(const auto paths, list_folder(folder));
  std::vector<std::string> names;
  for (const fs::path& path : paths)
    if (is_folder(path)) names.push_back(path.filename().string());
  if (names.empty())
    return make_error(Code::not_found, folder.string() + ": no folders in it: expected one for each class");
  return names;
}

/// The entries of one split whose classes are among these.
Result<std::vector<ClassEntry>> list_entries(const fs::path& folder, const std::vector<std::string>& classes,
                                             bool (*is_sample)(const fs::path&), const std::string& samples) {
  MG_TRY(const auto found, list_classes(folder));
  std::vector<ClassEntry> entries;
  for (const std::string& name : found) {
    const auto place = std::ranges::lower_bound(classes, name);
    if (place == classes.end() || *place != name)
      return make_error(Code::data_loss, folder.string() + ": class '" + name + "' is not among the " +
                                             std::to_string(classes.size()) + " classes of the training split");
    MG_TRY(const auto paths, list_folder(folder / name));
    std::size_t rank = 0;
    for (const fs::path& path : paths)
      if (is_sample(path)) entries.push_back({path, static_cast<std::int32_t>(place - classes.begin()), rank++});
  }
  if (entries.empty()) return make_error(Code::not_found, folder.string() + ": no " + samples + " in it");
  std::ranges::stable_sort(entries, {}, &ClassEntry::rank);
  return entries;
}

/// The folder of a split; nothing where there is none.
std::optional<fs::path> split_folder(const fs::path& root, Split split) {
  const bool has_splits = is_folder(root / "train");
  if (split == Split::train) return has_splits ? root / "train" : root;
  if (!has_splits) return std::nullopt;
  if (split == Split::test) return is_folder(root / "test") ? std::optional(root / "test") : std::nullopt;
  for (const char* name : {"val", "valid", "validation"})
    if (is_folder(root / name)) return root / name;
  return std::nullopt;
}

/// "96" or "128x96".
Result<std::pair<int, int>> parse_size(const std::string& text) {
  const auto side = [](std::string_view part) -> int {
    int number = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), number);
    return code == std::errc() && end == part.data() + part.size() && number <= 4096 ? number : 0;
  };
  const std::size_t cross = text.find('x');
  const int width = side(std::string_view(text).substr(0, cross));
  const int height = cross == std::string::npos ? width : side(std::string_view(text).substr(cross + 1));
  if (width > 0 && height > 0) return std::pair(width, height);
  return make_error(Code::invalid_argument,
                    "option 'size': '" + text + "' is not a side or WIDTHxHEIGHT in pixels, at most 4096");
}

}  // namespace

Result<std::vector<fs::path>> list_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
    if (!entry->path().filename().string().starts_with('.')) paths.push_back(entry->path());
  if (problem) return make_error(Code::not_found, folder.string() + ": cannot read the folder: " + problem.message());
  std::ranges::sort(paths);
  return paths;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Result<std::optional<ClassFolders>> list_class_folders(const fs::path& root, Split split,
                                                       bool (*is_sample)(const fs::path&), const std::string& samples) {
  if (!is_folder(root)) return make_error(Code::not_found, "no folder '" + root.string() + "'");
  const auto folder = split_folder(root, split);
  if (!folder) return std::optional<ClassFolders>();
  const fs::path training = *split_folder(root, Split::train);
  ClassFolders found;
  MG_TRY(found.classes, list_classes(training));
  MG_TRY(found.entries, list_entries(*folder, found.classes, is_sample, samples));
  found.first = found.entries.front().path;
  if (split != Split::train) {
    MG_TRY(const auto others, list_entries(training, found.classes, is_sample, samples));
    found.first = others.front().path;
  }
  return std::optional(std::move(found));
}

Result<Shape> image_shape(const DatasetSpec& spec, const std::function<Result<Image>()>& load_first) {
  MG_TRY(std::int64_t channels, spec.whole_number("channels", 0, 1, 3));
  if (channels == 2) return make_error(Code::invalid_argument, "option 'channels': '2' is not 1 or 3");
  std::pair<int, int> size;
  const auto given = spec.option("size");
  if (given) {
    MG_TRY(size, parse_size(*given));
  }
  if (!given || channels == 0) {
    MG_TRY(const Image image, load_first());
    if (!given) size = {image.width, image.height};
    if (channels == 0) channels = image.channels;
  }
  return Shape{channels, size.second, size.first};
}

}  // namespace mangrove::data
