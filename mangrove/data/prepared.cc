#include "mangrove/data/prepared.h"

#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/data/batch_rows.h"
#include "mangrove/data/wrapped.h"

namespace mangrove::data {
namespace {

class Prepared final : public WrappedDataset {
 public:
  Prepared(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Augmentation> augmentation, bool training,
           std::uint64_t seed)
      : WrappedDataset(std::move(dataset)), augmentation_(std::move(augmentation)), training_(training), seed_(seed) {}

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_RETURN_IF_ERROR(inner().read(index, out));
    Random random = random_of_sample(seed_, /*epoch=*/0, index);
    augmentation_->apply(out, {&random, 1}, training_);
    return {};
  }

 private:
  const std::shared_ptr<const Augmentation> augmentation_;
  const bool training_;
  const std::uint64_t seed_;
};

}  // namespace

std::shared_ptr<const Dataset> prepared(std::shared_ptr<const Dataset> dataset,
                                        std::shared_ptr<const Augmentation> augmentation, bool training,
                                        std::uint64_t seed) {
  MG_CHECK(!augmentation->mixes());
  return std::make_shared<Prepared>(std::move(dataset), std::move(augmentation), training, seed);
}

}  // namespace mangrove::data
