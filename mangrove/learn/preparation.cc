#include "mangrove/learn/preparation.h"

namespace mangrove::learn {

Result<std::shared_ptr<const data::Augmentation>> preparation_of(const std::map<std::string, std::string>& metadata,
                                                                 const Shape& sample,
                                                                 const data::DataFolder& data_folder) {
  const auto recipe = metadata.find(kAugmentationKey);
  if (recipe == metadata.end()) return std::shared_ptr<const data::Augmentation>();
  const auto open_training = [&]() -> Result<std::shared_ptr<const data::Dataset>> {
    const auto trained_on = metadata.find(kDataKey);
    if (trained_on != metadata.end())
      return data::open_dataset(trained_on->second, data::Split::train, data_folder).context("its training samples");
    return make_error(Code::failed_precondition,
                      "statistics of the training samples are needed, but the network has "
                      "no metadata '" +
                          std::string(kDataKey) + "' that say which they are");
  };
  return data::Augmentation::create(recipe->second, sample, open_training).context("augmentation of the network");
}

Result<std::shared_ptr<const data::Augmentation>> preparation_of(const Graph& graph,
                                                                 const data::DataFolder& data_folder) {
  if (!graph.metadata().contains(kAugmentationKey)) return std::shared_ptr<const data::Augmentation>();
  if (graph.inputs().size() != 1 || graph.inputs()[0].second.shape.rank() < 2)
    return make_error(Code::invalid_argument, "graph '" + graph.name() + "': expected one input [N, ...]");
  const std::vector<std::int64_t> input = graph.inputs()[0].second.shape.dims();
  return preparation_of(graph.metadata(), Shape({input.begin() + 1, input.end()}), data_folder);
}

}  // namespace mangrove::learn
