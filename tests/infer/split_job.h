#pragma once

#include <string>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {

constexpr std::int64_t kSplitSamples = 30;

/// Adds a tier of one device with small_graph(). privacy: empty: it is trusted.
void add_tier(InferJob& job, const std::string& name, const std::string& privacy);

/// A trusted end device, and the cloud, both with the same network, and eight tasks.
InferJob split_job(const std::string& privacy_of_cloud);

}  // namespace mangrove::infer
