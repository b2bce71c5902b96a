#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/infer/nodes.h"

namespace mangrove::infer {

/// What one node does alone, before the pipeline. Both are done by the first usable node, and again by another where it
/// is lost, or silent for `timeout`. errors: those of Nodes::next; unavailable (no node does it in time).

/// Measures the unsplit network.
Result<Profile> measure_profile(const net::RoleContext& context, Nodes& nodes, Reports& reports, Seconds timeout);

struct Baseline {
  std::vector<std::int32_t> predictions;  // of the unsplit network, per sample
  std::vector<std::int32_t> truths;       // per sample
  Seconds seconds = 0;                    // that the node took, without compiling
};
/// Classifies the whole data set with the unsplit network.
Result<Baseline> run_baseline(const net::RoleContext& context, Nodes& nodes, Reports& reports, Seconds timeout,
                              const Hello& data);

}  // namespace mangrove::infer
