#include "mangrove/data/image_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "mangrove/data/image.h"

namespace mangrove::data {
namespace {

struct Entry {
  fs::path path;
  std::int32_t label;
  std::size_t rank = 0;  // among the images of its class
};

class ImageFolder final : public Dataset {
 public:
  ImageFolder(std::vector<Entry> images, std::vector<std::string> class_names, Shape shape)
      : images_(std::move(images)), class_names_(std::move(class_names)), shape_(std::move(shape)) {}

  std::uint32_t size() const override { return static_cast<std::uint32_t>(images_.size()); }
  Shape sample_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::string name(std::uint32_t index) const override { return images_[index].path.string(); }
  std::int32_t label(std::uint32_t index) const override { return images_[index].label; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_TRY(Image image, load_image(images_[index].path));
    image = to_channels(std::move(image), static_cast<int>(shape_[0]));
    to_planar(resize_and_crop(image, static_cast<int>(shape_[2]), static_cast<int>(shape_[1])), out);
    return {};
  }

 private:
  std::vector<Entry> images_;
  std::vector<std::string> class_names_;
  Shape shape_;
};

/// What is in a folder, hidden things left out, in the order of the names.
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

Result<std::vector<std::string>> list_classes(const fs::path& folder) {
  MG_TRY(const auto paths, list_folder(folder));
  std::vector<std::string> names;
  for (const fs::path& path : paths)
    if (is_folder(path)) names.push_back(path.filename().string());
  if (names.empty())
    return make_error(Code::not_found, folder.string() + ": no folders in it: expected one for each class");
  return names;
}

Result<std::vector<Entry>> list_images(const fs::path& folder, const std::vector<std::string>& classes) {
  MG_TRY(const auto found, list_classes(folder));
  std::vector<Entry> images;
  for (const std::string& name : found) {
    const auto place = std::ranges::lower_bound(classes, name);
    if (place == classes.end() || *place != name)
      return make_error(Code::data_loss, folder.string() + ": class '" + name + "' is not among the " +
                                             std::to_string(classes.size()) + " classes of the training split");
    MG_TRY(const auto paths, list_folder(folder / name));
    std::size_t rank = 0;
    for (const fs::path& path : paths)
      if (has_image_name(path)) images.push_back({path, static_cast<std::int32_t>(place - classes.begin()), rank++});
  }
  if (images.empty()) return make_error(Code::not_found, folder.string() + ": no JPEG, PNG, PPM or PGM images in it");
  std::ranges::stable_sort(images, {}, &Entry::rank);
  return images;
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

Result<Shape> find_shape(const DatasetSpec& spec, const fs::path& first) {
  MG_TRY(std::int64_t channels, spec.whole_number("channels", 0, 1, 3));
  if (channels == 2) return make_error(Code::invalid_argument, "option 'channels': '2' is not 1 or 3");
  std::pair<int, int> size;
  const auto given = spec.option("size");
  if (given) {
    MG_TRY(size, parse_size(*given));
  }
  if (!given || channels == 0) {
    MG_TRY(const Image image, load_image(first));
    if (!given) size = {image.width, image.height};
    if (channels == 0) channels = image.channels;
  }
  return Shape{channels, size.second, size.first};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_image_folder(const DatasetSpec& spec, Split split,
                                                         const fs::path& data_folder) {
  const fs::path root = resolve_path(spec.path, data_folder);
  if (!is_folder(root)) return make_error(Code::not_found, "no folder '" + root.string() + "'");
  const auto folder = split_folder(root, split);
  if (!folder) return std::shared_ptr<const Dataset>();
  const fs::path training = *split_folder(root, Split::train);
  MG_TRY(auto classes, list_classes(training));
  MG_TRY(auto images, list_images(*folder, classes));
  fs::path first = images.front().path;
  if (split != Split::train) {
    MG_TRY(const auto others, list_images(training, classes));
    first = others.front().path;
  }
  MG_TRY(Shape shape, find_shape(spec, first));
  return std::shared_ptr<const Dataset>(
      std::make_shared<ImageFolder>(std::move(images), std::move(classes), std::move(shape)));
}

}  // namespace mangrove::data
