#pragma once

#include <span>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// Whether samples of several requests can go through the network in one batch: an input and all outputs have a batch
/// dimension with one place for each sample. Of a network that does not have it in all outputs, e.g. for a mean of the
/// batch, the batch is always 1.
bool has_batch(const Graph& graph);

/// What clients may know. max_batch: samples that are computed together.
ModelMetadata metadata_of(const Graph& graph, const std::string& name, const std::string& version,
                          std::vector<std::string> labels, std::int64_t max_batch);

/// Of these outputs, by position, for so many samples. The largest number where it is more than that.
Bytes output_bytes(const ModelMetadata& model, std::span<const std::size_t> outputs, std::int64_t samples);

}  // namespace mangrove::serve
