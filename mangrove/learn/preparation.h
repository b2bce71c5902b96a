#pragma once

#include <memory>
#include <string>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// Where the metadata of a trained network say how its samples were transformed, as Augmentation::text() does.
constexpr const char* kAugmentationKey = "mangrove.augmentation";

/// Where they say what it was trained on, as data::open_dataset takes it.
constexpr const char* kDataKey = "mangrove.data";

/// How the samples of a network with one input [N, ...] have to be prepared: as those were that it was trained on, e.g.
/// normalised. Null for one that was trained on samples as they are. Statistics are those of its training samples: in
/// the metadata, but for zca, whose matrix is fitted again to the very samples that it was fitted to in training.
/// errors: those of Augmentation::create; of opening the data that it was trained on (zca only); failed_precondition
/// (zca, and the metadata do not say what it was trained on); invalid_argument (another number of inputs).
Result<std::shared_ptr<const data::Augmentation>> preparation_of(const Graph& graph,
                                                                 const data::DataFolder& data_folder);
/// The same of a network with these metadata, for samples of this shape.
Result<std::shared_ptr<const data::Augmentation>> preparation_of(const std::map<std::string, std::string>& metadata,
                                                                 const Shape& sample,
                                                                 const data::DataFolder& data_folder);

}  // namespace mangrove::learn
