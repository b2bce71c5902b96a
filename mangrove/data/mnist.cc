#include "mangrove/data/mnist.h"

#include <algorithm>

#include "mangrove/data/idx.h"

namespace mangrove::data {
namespace {

// Sums are of the unpacked files: gzip headers, with their time stamps, differ between mirrors.
constexpr RemoteFile kFiles[] = {
    {"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", 47'040'016,
     9'912'422},
    {"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", 60'008, 28'881},
    {"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", 7'840'016,
     1'648'877},
    {"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", 10'008, 4'542},
};
constexpr std::string_view kMirrors[] = {
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
};

class Mnist final : public Dataset {
 public:
  Mnist(IdxFile images, IdxFile labels) : images_(std::move(images)), labels_(std::move(labels)) {}

  std::uint32_t size() const override { return images_.sizes()[0]; }
  Shape sample_shape() const override { return {1, images_.sizes()[1], images_.sizes()[2]}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::int32_t label(std::uint32_t index) const override { return labels_.elements()[index]; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(index < size());
    const std::size_t pixels = std::size_t{images_.sizes()[1]} * images_.sizes()[2];
    MG_CHECK(out.size() == pixels);
    const auto image = images_.elements().subspan(index * pixels, pixels);
    std::ranges::transform(image, out.begin(), [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0f; });
    return {};
  }

 private:
  IdxFile images_;
  IdxFile labels_;
  std::vector<std::string> class_names_ = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
};

Status check_labels(const IdxFile& images, const IdxFile& labels, const fs::path& path, std::int32_t classes) {
  if (labels.sizes()[0] != images.sizes()[0])
    return make_error(Code::data_loss, path.string() + ": " + std::to_string(labels.sizes()[0]) +
                                           " labels found, one for each of " + std::to_string(images.sizes()[0]) +
                                           " images expected");
  const auto all = labels.elements();
  const auto bad = std::ranges::find_if(all, [&](std::uint8_t label) { return label >= classes; });
  if (bad == all.end()) return {};
  return make_error(Code::data_loss, path.string() + ": label " + std::to_string(*bad) + " of sample " +
                                         std::to_string(bad - all.begin()) + ": expected 0 to " +
                                         std::to_string(classes - 1));
}

struct Paths {
  fs::path images;
  fs::path labels;
};

Result<Paths> find_files(Split split, const fs::path& folder) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const std::string names[] = {prefix + "-images-idx3-ubyte", prefix + "-labels-idx1-ubyte"};
  const auto images = local_file(folder, names[0]);
  const auto labels = local_file(folder, names[1]);
  if (images && labels) return Paths{*images, *labels};
  const std::string missing = images ? names[1] : labels ? names[0] : names[0] + " and " + names[1];
  return make_error(Code::not_found, "mnist: " + missing + " (or with .gz) not in " + folder.string() +
                                         "; get it with 'mangrove data get mnist', or use '--data glyphs', which "
                                         "needs no files");
}

}  // namespace

constinit const RemoteDataset kMnistFiles = {"mnist", kFiles, kMirrors};

Result<std::shared_ptr<const Dataset>> open_mnist(Split split, const fs::path& folder) {
  MG_TRY(const Paths paths, find_files(split, folder / "mnist"));
  MG_TRY(IdxFile images, IdxFile::open(paths.images, 3));
  MG_TRY(IdxFile labels, IdxFile::open(paths.labels, 1));
  auto dataset = std::make_shared<Mnist>(images, labels);
  MG_RETURN_IF_ERROR(check_labels(images, labels, paths.labels, dataset->classes()));
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

}  // namespace mangrove::data
