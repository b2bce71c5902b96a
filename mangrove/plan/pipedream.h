#pragma once

#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/plan/layers.h"

namespace mangrove::plan {

/// A network as the PipeDream project publishes its profiles.
struct PipeDreamProfile {
  Layers network;  // activations: of its values, kept for the backward pass
  std::vector<Seconds> forward, backward;
};

/// Reads "nodeN -- NAME -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES,
/// parameter_size=BYTES" lines and "\tnodeA -- nodeB" lines, in any order. Input nodes become inputs; a value that
/// nobody reads is a result. format: github.com/msr-fiddle/pipedream, graph/graph.py.
/// errors: invalid_argument (a line that is neither; an unknown node, a node twice, a cycle; names the line).
Result<PipeDreamProfile> parse_pipedream(const std::string& text);
/// errors: those of read_file and parse_pipedream, with the path.
Result<PipeDreamProfile> load_pipedream(const fs::path& path);

}  // namespace mangrove::plan
