#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/infer/node_roster.h"

namespace mangrove::infer {

struct Baseline {
  std::vector<std::int32_t> predictions;  // of the unsplit network, per sample
  std::vector<std::int32_t> truths;       // per sample
  Seconds seconds = 0;                    // that the node took, without compiling
  net::Rank rank = 0;                     // of the node
};
/// Classifies the whole data set with the unsplit network on one node: the first usable one of these ranks, and again
/// on another usable one where it is lost, or silent for `timeout`. errors: those of NodeRoster::next; unavailable (no
/// node does it in time).
Result<Baseline> run_baseline(const job::RoleContext& context, NodeRoster& nodes, Reports& reports, Seconds timeout,
                              const Hello& data, const net::RankSet& first);

}  // namespace mangrove::infer
