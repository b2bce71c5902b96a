#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/infer/node_roster.h"

namespace mangrove::infer {

struct Baseline {
  std::vector<std::int32_t> predictions;  // by the unsplit network, per sample
  std::vector<std::int32_t> truths;       // per sample
  Seconds seconds = 0;                    // time of the node, without compiling
  net::Rank rank = 0;                     // the node
};
/// Classifies the whole data set with the unsplit network on one node. first: the ranks in the order in which they are
/// tried. If the node is lost, or silent for `timeout`, another usable one starts from the beginning. One that gave
/// no answer, and has done nothing before, is idle (see RoleContext::idle).
/// errors: those of NodeRoster::next; unavailable (no node finishes in time); resource_exhausted (no node has the
/// memory for the whole network).
Result<Baseline> run_baseline(const job::RoleContext& context, NodeRoster& nodes, Reports& reports, Seconds timeout,
                              const Hello& data, const net::RankSet& first);

}  // namespace mangrove::infer
