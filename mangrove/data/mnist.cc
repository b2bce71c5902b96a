#include "mangrove/data/mnist.h"

#include "mangrove/data/dataset_row.h"
#include "mangrove/data/idx_dataset.h"

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
constexpr std::string_view kMnistMirrors[] = {
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
};

constexpr RemoteDataset kMnistFiles = {"mnist", kFiles, kMnistMirrors};

}  // namespace

Result<std::shared_ptr<const Dataset>> open_mnist(Split split, const fs::path& folder) {
  Result<std::shared_ptr<const Dataset>> dataset = open_idx(split, folder / "mnist", 10);
  if (dataset.ok() || dataset.code() != Code::not_found) return dataset;
  return make_error(Code::not_found, "mnist: " + dataset.error().message +
                                         "; get it with 'mangrove data fetch mnist', or use '--data glyphs', which "
                                         "needs no files");
}

DatasetRow rows::mnist() {
  return {.info = {"mnist", "mnist", "handwritten digits: 60,000 + 10,000 grey images of 28x28, 10 classes", false},
          .open = &open_by_name<open_mnist>,
          .folder = "mnist",
          .files = &kMnistFiles};
}

}  // namespace mangrove::data
