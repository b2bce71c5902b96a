#include "mangrove/data/image_folder.h"

#include "mangrove/data/class_folders.h"
#include "mangrove/data/dataset_row.h"
#include "mangrove/data/shards.h"

namespace mangrove::data {
namespace {

class ImageFolder final : public Dataset {
 public:
  ImageFolder(std::vector<ClassEntry> images, std::vector<std::string> class_names, Shape shape, FileOpener open)
      : images_(std::move(images)),
        class_names_(std::move(class_names)),
        shape_(std::move(shape)),
        open_(std::move(open)) {}

  std::uint32_t size() const override { return static_cast<std::uint32_t>(images_.size()); }
  Shape sample_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::string name(std::uint32_t index) const override { return images_[index].path.string(); }
  std::int32_t label(std::uint32_t index) const override { return images_[index].label; }
  bool decodes() const override { return true; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_TRY(Image image, load_image(images_[index].path, open_));
    image = to_channels(std::move(image), static_cast<int>(shape_[0]));
    to_planar(resize_and_crop(image, static_cast<int>(shape_[2]), static_cast<int>(shape_[1])), out);
    return {};
  }

 private:
  std::vector<ClassEntry> images_;
  std::vector<std::string> class_names_;
  Shape shape_;
  FileOpener open_;
};

/// A path without more may be of shards too.
OpenedDataset open_images_or_shards(const DatasetSpec& spec, Split split, const DataFolder& folder) {
  MG_TRY(const fs::path path, folder.find(spec.path));
  if (!has_shards(path)) return open_image_folder(spec, split, folder);
  for (const char* option : {"size", "channels"})
    if (spec.option(option))
      return make_error(Code::invalid_argument, "data '" + spec.text() + "': these are shards, and option '" + option +
                                                    "' is for images: give it when they are packed");
  return open_shards(spec, split, folder);
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_image_folder(const DatasetSpec& spec, Split split,
                                                         const DataFolder& folder) {
  MG_TRY(const fs::path path, folder.find(spec.path));
  MG_TRY(auto found, list_class_folders(path, split, &has_image_name, "JPEG, PNG, PPM or PGM images"));
  if (!found) return std::shared_ptr<const Dataset>();
  FileOpener open = folder.opener();
  MG_TRY(Shape shape, image_shape(spec, [&] { return load_image(found->first, open); }));
  return std::shared_ptr<const Dataset>(std::make_shared<ImageFolder>(
      std::move(found->entries), std::move(found->classes), std::move(shape), std::move(open)));
}

DatasetRow rows::folder() {
  return {
      .info = {"folder", "folder:PATH[,size=96][,channels=3]", "JPEG, PNG, PPM and PGM images in class folders", true},
      .open = &open_images_or_shards,
      .options = "size channels"};
}

}  // namespace mangrove::data
