#include "mangrove/learn/preparation.h"

namespace mangrove::learn {

Result<std::shared_ptr<const data::Augmentation>> preparation_of(const Graph& graph, const std::string& data,
                                                                 const fs::path& data_folder) {
  const auto found = graph.metadata().find(kAugmentationKey);
  if (found == graph.metadata().end()) return std::shared_ptr<const data::Augmentation>();
  MG_TRY(const auto train, data::open_dataset(data, data::Split::train, data_folder));
  return data::Augmentation::create(found->second, *train).context("augmentation of the network");
}

}  // namespace mangrove::learn
