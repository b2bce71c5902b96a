#pragma once

#include <string>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {

constexpr std::int64_t kSplitSamples = 30;

/// Adds a tier of one device with small_graph(). privacy: empty: it is trusted.
void add_tier(InferJob& job, const std::string& name, const std::string& privacy);

/// Trained noise for the values behind "pool" of small_graph(): the bytes of a file with three tensors.
std::string noise_behind_pool();

/// A trusted end device, and the cloud, both with the same network, and eight tasks.
InferJob split_job(const std::string& privacy_of_cloud);

}  // namespace mangrove::infer
