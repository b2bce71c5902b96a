#pragma once

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// Handwritten digits, 60,000 to train and 10,000 to test, [1, 28, 28], from the four IDX files of folder/mnist, each
/// as it is or with .gz behind its name; null for the validation split, which it has not. errors: as open_dataset.
/// source: LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, Proc. IEEE 1998.
Result<std::shared_ptr<const Dataset>> open_mnist(Split split, const fs::path& folder);

}  // namespace mangrove::data
