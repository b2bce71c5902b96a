#pragma once

#include <memory>
#include <optional>
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

  struct Reorder {
    Shape shape;
    LayoutPtr from, to;
    std::shared_ptr<const Step> step;
  };

  void declare_values();
  Status check_outputs() const;
  void find_wanted_gradients();
  Status append_node(const Node& node, std::vector<Compiled>& compiled);
  Status append_dequantizers(const Node& node, std::vector<Compiled>& compiled);
  std::optional<KernelRequest> request_for_dequantized(const Node& node);
  Result<Compiled> compile_node(const KernelRequest& request);
  void note_fused(const Node& node, const std::vector<const Node*>& epilogue);
  Result<Compiled> make_kernels(const KernelRequest& request, const Backend& backend) const;
  Status append_forward(std::vector<Compiled>& compiled);
  void drop_results(const std::vector<Compiled>& compiled);
  Status append_backward(std::vector<Compiled>& compiled);
  std::vector<Program::Link> links(const std::vector<Compiled>& compiled) const;
  ValueInfo bound(const std::string& name) const;
  Status place_values(const BufferTable::Placement& placement);
  void place_steps(const BufferTable::Placement& placement, int forward_steps);
  Result<Program::PlacedValue> placed(const StepList::Value& value, const BufferTable::Placement& placement);
  /// A reorder to or from plain; the parameters of a deep network lie in few shapes and layouts.
  Result<std::shared_ptr<const Step>> shared_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to);

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
  std::vector<Reorder> reorders_;
};

}  // namespace mangrove
