#include "mangrove/data/idx_dataset.h"

#include <algorithm>

#include "mangrove/data/dataset_row.h"
#include "mangrove/data/download.h"
#include "mangrove/data/idx.h"

namespace mangrove::data {
namespace {

using Labels = std::vector<std::uint8_t>;

Result<Labels> read_labels(const fs::path& path, const FileOpener& open) {
  MG_TRY(const IdxFile file, IdxFile::open(path, 1, open));
  MG_TRY(const std::string elements, file.elements());
  return Labels(elements.begin(), elements.end());
}

class IdxDataset final : public Dataset {
 public:
  IdxDataset(IdxFile images, Labels labels, std::int32_t classes)
      : images_(std::move(images)), labels_(std::move(labels)) {
    for (std::int32_t label = 0; label < classes; ++label) class_names_.push_back(std::to_string(label));
  }

  std::uint32_t size() const override { return images_.sizes()[0]; }
  Shape sample_shape() const override { return {1, images_.sizes()[1], images_.sizes()[2]}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::int32_t label(std::uint32_t index) const override { return labels_[index]; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(index < size());
    const std::size_t pixels = std::size_t{images_.sizes()[1]} * images_.sizes()[2];
    MG_CHECK(out.size() == pixels);
    std::vector<std::uint8_t> image(pixels);
    MG_RETURN_IF_ERROR(images_.copy(index * pixels, image));
    std::ranges::transform(image, out.begin(), [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0f; });
    return {};
  }

 private:
  IdxFile images_;
  Labels labels_;
  std::vector<std::string> class_names_;
};

struct Paths {
  fs::path images;
  fs::path labels;
};

/// errors: not_found: names what is missing.
Result<Paths> find_pair(const std::string& prefix, const fs::path& folder) {
  const std::string names[] = {prefix + "-images-idx3-ubyte", prefix + "-labels-idx1-ubyte"};
  const auto images = local_file(folder, names[0]);
  const auto labels = local_file(folder, names[1]);
  if (images && labels) return Paths{*images, *labels};
  const std::string missing = images ? names[1] : labels ? names[0] : names[0] + " and " + names[1];
  return make_error(Code::not_found, missing + " (or with .gz) not in " + folder.string());
}

Result<Paths> find_files(Split split, const fs::path& folder) {
  if (split == Split::train) return find_pair("train", folder);
  Result<Paths> paths = find_pair("t10k", folder);
  if (paths.ok()) return paths;
  Result<Paths> other = find_pair("test", folder);
  return other.ok() ? std::move(other) : std::move(paths);
}

Status check_labels(const IdxFile& images, const Labels& labels, const fs::path& path, std::int32_t classes) {
  if (labels.size() != images.sizes()[0])
    return make_error(Code::data_loss, path.string() + ": " + std::to_string(labels.size()) +
                                           " labels found, one for each of " + std::to_string(images.sizes()[0]) +
                                           " images expected");
  const auto bad = std::ranges::find_if(labels, [&](std::uint8_t label) { return label >= classes; });
  if (bad == labels.end()) return {};
  return make_error(Code::data_loss, path.string() + ": label " + std::to_string(*bad) + " of sample " +
                                         std::to_string(bad - labels.begin()) + ": expected 0 to " +
                                         std::to_string(classes - 1));
}

/// One more than the highest label of the training split, whichever split is opened: both must agree.
Result<std::int32_t> count_classes(const fs::path& folder, const FileOpener& open) {
  MG_TRY(const Paths paths, find_files(Split::train, folder));
  MG_TRY(const Labels labels, read_labels(paths.labels, open));
  return std::int32_t{*std::ranges::max_element(labels)} + 1;
}

OpenedDataset open_idx_folder(const DatasetSpec& spec, Split split, const DataFolder& folder) {
  MG_TRY(const fs::path path, folder.find(spec.path));
  return open_idx(split, path, 0, folder.opener());
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_idx(Split split, const fs::path& folder, std::int32_t classes,
                                                const FileOpener& open) {
  if (split == Split::validation) return std::shared_ptr<const Dataset>();
  MG_TRY(const Paths paths, find_files(split, folder));
  if (classes == 0) {
    MG_TRY(classes, count_classes(folder, open));
  }
  MG_TRY(IdxFile images, IdxFile::open(paths.images, 3, open));
  MG_TRY(Labels labels, read_labels(paths.labels, open));
  MG_RETURN_IF_ERROR(check_labels(images, labels, paths.labels, classes));
  return std::shared_ptr<const Dataset>(std::make_shared<IdxDataset>(std::move(images), std::move(labels), classes));
}

DatasetRow rows::idx() {
  return {.info = {"idx", "idx:PATH", "a folder with IDX files of images and labels, as MNIST's", true},
          .open = &open_idx_folder};
}

}  // namespace mangrove::data
