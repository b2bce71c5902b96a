#include "mangrove/data/fashion.h"

#include "mangrove/data/idx_dataset.h"
#include "mangrove/data/wrapped.h"

namespace mangrove::data {
namespace {

/// The files have numbers.
class NamedClothes final : public WrappedDataset {
 public:
  using WrappedDataset::WrappedDataset;
  const std::vector<std::string>& class_names() const override { return names_; }
  Status read(std::uint32_t index, std::span<float> out) const override { return inner().read(index, out); }

 private:
  const std::vector<std::string> names_ = {"T-shirt", "trouser", "pullover", "dress", "coat",
                                           "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
};

}  // namespace

Result<std::shared_ptr<const Dataset>> open_fashion(Split split, const fs::path& folder) {
  Result<std::shared_ptr<const Dataset>> numbered = open_idx(split, folder / "fashion", 10);
  if (!numbered.ok() && numbered.code() == Code::not_found)
    return make_error(Code::not_found, "fashion: " + numbered.error().message +
                                           "; get its four files from github.com/zalandoresearch/fashion-mnist");
  if (!numbered.ok() || *numbered == nullptr) return numbered;
  return std::shared_ptr<const Dataset>(std::make_shared<NamedClothes>(std::move(*numbered)));
}

}  // namespace mangrove::data
