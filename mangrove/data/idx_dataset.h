#pragma once

#include "mangrove/data/dataset.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

/// Images and labels as MNIST, Fashion-MNIST, KMNIST and EMNIST come: PREFIX-images-idx3-ubyte and
/// PREFIX-labels-idx1-ubyte in `folder`, each as it is or with .gz behind its name; PREFIX is train, t10k or test.
/// There is no validation split: null. Classes are called "0", "1", ...; where `classes` is 0, there are as many as the
/// highest label of the training split says.
/// errors: not_found (names the files), data_loss (corrupt files, labels beyond the classes).
Result<std::shared_ptr<const Dataset>> open_idx(Split split, const fs::path& folder, std::int32_t classes,
                                                const FileOpener& open = &FileBytes::open);

}  // namespace mangrove::data
