#pragma once

#include "mangrove/data/dataset.h"

namespace mangrove::data {

// Tiny colour images, [3, 32, 32], in the binary format that the data set's authors publish: records of one label byte
// (CIFAR-100: a coarse and a fine one), then 1,024 red, green and blue bytes each. Mapped, not copied. None has a
// validation split: null. errors: as open_dataset.
// source: Krizhevsky, Learning multiple layers of features from tiny images, 2009.

/// 50,000 + 10,000 of 10 classes, from folder/cifar-10-batches-bin.
Result<std::shared_ptr<const Dataset>> open_cifar10(Split split, const fs::path& folder);
/// The same images after JPEG compression, from folder/cifar-10-jpeg-batches-bin.
Result<std::shared_ptr<const Dataset>> open_cifar10_jpeg(Split split, const fs::path& folder);
/// The first 10,000 training images and the test images, from folder/cifar10-lossless.
Result<std::shared_ptr<const Dataset>> open_cifar10_lossless(Split split, const fs::path& folder);
/// 50,000 + 10,000 of 100 classes in 20 coarse ones, from folder/cifar-100-binary; labels are the fine classes.
Result<std::shared_ptr<const Dataset>> open_cifar100(Split split, const fs::path& folder);

}  // namespace mangrove::data
