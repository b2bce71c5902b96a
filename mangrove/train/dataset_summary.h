#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
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

/// Whose each sample is: a rank from 1 on, of so many workers. Empty: nobody's. REQUIRES check_data. errors:
/// invalid_argument (the job's split is for another number of workers), data_loss (it needs labels that are not told).
Result<std::vector<net::Rank>> owners_of_samples(const TrainJob& job, const Hello& hello, std::size_t workers);

/// The trained network as it is exported: its metadata say what it was trained on, how that was prepared, and what its
/// classes are called.
Graph labelled(const Graph& trained, const TrainJob& job, const Hello& hello);

}  // namespace mangrove::train
