#pragma once

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// Clothes, 60,000 to train and 10,000 to test, [1, 28, 28], from the four IDX files of folder/fashion, each as it is
/// or with .gz behind its name; null for the validation split, which it has not. errors: as open_dataset. source: Xiao,
/// Rasul & Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms, 2017.
Result<std::shared_ptr<const Dataset>> open_fashion(Split split, const fs::path& folder);

}  // namespace mangrove::data
