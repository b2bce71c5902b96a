#pragma once

#include <memory>
#include <string>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// Where the metadata of a trained network say how its samples were transformed, as Augmentation::text() does.
constexpr const char* kAugmentationKey = "mangrove.augmentation";

/// How samples of this data set (see data::open_dataset) have to be prepared for a network that was trained with an
/// augmentation, e.g. normalised. Null for one that was trained without.
/// errors: those of Augmentation::create, and of opening the training split.
Result<std::shared_ptr<const data::Augmentation>> preparation_of(const Graph& graph, const std::string& data,
                                                                 const fs::path& data_folder);

}  // namespace mangrove::learn
