#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

// What a worker's Hello says of the job's data.

std::vector<std::string> class_names(const Hello& hello);

/// The data must be what the network was built for, and in runs where the job shuffles by them. errors:
/// invalid_argument (names both).
Status check_data(const Graph& graph, const TrainJob& job, const Hello& hello);

/// The order in which an epoch visits the training samples. REQUIRES check_data.
std::vector<std::uint32_t> order_of_epoch(const TrainJob& job, const Hello& hello, std::int64_t epoch);

/// The trained network as it is exported: its metadata say what it was trained on, how that was prepared, and what its
/// classes are called.
Graph labelled(const Graph& trained, const TrainJob& job, const Hello& hello);

}  // namespace mangrove::train
