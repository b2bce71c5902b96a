#include "mangrove/data/dataset_row.h"
#include "mangrove/data/idx_dataset.h"
#include "mangrove/data/wrapped.h"

namespace mangrove::data {
namespace {

/// Labels are numbers in the files.
class NamedClothes final : public WrappedDataset {
 public:
  using WrappedDataset::WrappedDataset;
  const std::vector<std::string>& class_names() const override { return names_; }
  Status read(std::uint32_t index, std::span<float> out) const override { return inner().read(index, out); }

 private:
  const std::vector<std::string> names_ = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                           "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
};

/// Clothes, 60,000 to train and 10,000 to test, [1, 28, 28], from the four IDX files of folder/fashion, each as it is
/// or with .gz behind its name; null for the validation split, which it has not. errors: as open_dataset. source: Xiao,
/// Rasul & Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms, 2017.
OpenedDataset open_fashion(Split split, const fs::path& folder) {
  OpenedDataset numbered = open_idx(split, folder / "fashion", 10);
  if (!numbered.ok() && numbered.code() == Code::not_found)
    return make_error(Code::not_found, "fashion: " + numbered.error().message +
                                           "; get its four files from github.com/zalandoresearch/fashion-mnist");
  if (!numbered.ok() || *numbered == nullptr) return numbered;
  return std::shared_ptr<const Dataset>(std::make_shared<NamedClothes>(std::move(*numbered)));
}

}  // namespace

DatasetRow rows::fashion() {
  return {
      .info = {"fashion", "fashion", "Fashion-MNIST, clothes: 60,000 + 10,000 grey images of 28x28, 10 classes", false},
      .open = &open_by_name<open_fashion>,
      .folder = "fashion"};
}

}  // namespace mangrove::data
