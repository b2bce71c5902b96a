#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

// What a worker's Hello says about the job's data.

std::vector<std::string> class_names(const Hello& hello);

/// Whether the data fits the network, and is in runs if the job shuffles by runs. errors: invalid_argument (names
/// both).
Status check_data(const Graph& graph, const TrainJob& job, const Hello& hello);

/// The order in which an epoch visits the training samples. REQUIRES check_data.
std::vector<std::uint32_t> order_of_epoch(const TrainJob& job, const Hello& hello, std::int64_t epoch);

/// The owner of each sample: a rank from 1 on, among this number of workers. Empty: samples have no owner. REQUIRES
/// check_data. errors: invalid_argument (the job's split is for another number of workers), data_loss (the split needs
/// labels, and the Hello has none).
Result<std::vector<net::Rank>> owners_of_samples(const TrainJob& job, const Hello& hello, std::size_t workers);

/// The trained network as it is exported. Its metadata say which data it was trained on, how these were prepared, and
/// the names of its classes.
Graph labelled(const Graph& trained, const TrainJob& job, const Hello& hello);

}  // namespace mangrove::train
