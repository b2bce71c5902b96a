#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mangrove/engine/chain.h"
#include "mangrove/engine/fusion.h"
#include "mangrove/engine/kernel_requests.h"
#include "mangrove/engine/program.h"
#include "mangrove/engine/recomputation.h"
#include "mangrove/engine/step_list.h"

namespace mangrove {

/// Compiles one graph: kernels for each node in order, then in training their backward steps in reverse, then memory.
class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, const CompileOptions& options, std::shared_ptr<const Backend> backend);

  Result<std::shared_ptr<const Program>> build();

 private:
  /// The kernels of one node; empty where it was fused into the one before.
  struct Compiled {
    NodeKernels kernels;
    std::string backend;
    const Node* node = nullptr;
    LinkSteps steps = {};
    std::string output;  // name of output 0, of the last node fused into it if there is one
  };

  void declare_values();
  Status check_outputs() const;
  void find_wanted_gradients();
  Result<Compiled> compile_node(const Node& node);
  Result<Compiled> make_kernels(const KernelRequest& request, const Backend& backend) const;
  Status append_forward(std::vector<Compiled>& compiled);
  void drop_results(const std::vector<Compiled>& compiled);
  Status append_backward(std::vector<Compiled>& compiled);
  std::vector<Program::Link> links(const std::vector<Compiled>& compiled) const;
  ValueInfo bound(const std::string& name) const;
  Status place_values(const BufferTable::Placement& placement);
  void place_steps(const BufferTable::Placement& placement, int forward_steps);
  Result<Program::PlacedValue> placed(const StepList::Value& value, const BufferTable::Placement& placement) const;

  std::shared_ptr<Program> program_;
  const Graph& graph_;  // the program's copy
  const CompileOptions& options_;
  std::shared_ptr<const Backend> backend_, portable_;
  StepList steps_;
  Recomputation recomputation_;
  std::set<std::string> parameters_, outputs_;
  std::set<std::string> needs_gradient_;  // values whose gradient backward computes
  KernelRequests requests_;
  Fusion fusion_;
  std::set<const Node*> fused_;
};

}  // namespace mangrove
