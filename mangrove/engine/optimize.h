#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/engine/program.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// Rewriting that the program's compiler does itself, CompileOptions::fuse, under the name that switches it off.
constexpr std::string_view kFusePass = "fuse";

struct OptimizeOptions {
  Mode mode = Mode::inference;
  std::set<std::string> disabled = {};  // names of passes that must not run
};

struct Optimized {
  Graph graph;
  std::vector<std::string> notes;  // "fold_batch_norm: node 'bn1' (BatchNormalization) is folded into ...", in order
};

/// What people may switch off: the names of graph/passes and kFusePass, each with a line that says what it does.
struct PassName {
  std::string_view name;
  std::string_view summary;
};
std::vector<PassName> pass_names();

/// errors: invalid_argument: a name that no pass has; the message says which is nearest.
Status check_pass_names(const std::set<std::string>& names);

/// Runs the rewriting passes over a graph until none finds anything more, at most 100 times. Outputs keep their names
/// and, up to rounding, their values; inputs stay as they are. In training, parameters and states stay too. cost: a
/// copy of the graph's nodes for each change of a pass; constants are computed by portable kernels. errors: those of
/// check_pass_names; those of compiling a node whose inputs are constants.
Result<Optimized> optimize(const Graph& graph, const OptimizeOptions& options);

}  // namespace mangrove
