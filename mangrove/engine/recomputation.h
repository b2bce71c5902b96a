#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/engine/step_list.h"

namespace mangrove {

/// Results of nodes that are not kept from the forward to the backward pass, but made again when a backward step first
/// reads them: each node runs at most twice, from results that were kept or that were made again before. (What is cheap
/// to make is made for making others, and once more for its own reader.) source: Chen et al., Training deep nets with
/// sublinear memory cost, 2016.
class Recomputation {
 public:
  /// `steps` must outlive this.
  explicit Recomputation(StepList& steps) : steps_(steps) {}

  /// Drops what the node (with those fused into it) made, once the whole forward pass is in the list. Keeps all where
  /// it cannot be made again: a graph output, or a node that updates a state and has no recompute steps.
  void drop(const NodeKernels& kernels, const std::string& node, const std::string& backend);

  /// Appends the steps that make again what `step` reads.
  Status restore_for(const Step& step);

 private:
  struct Dropped {
    std::vector<Step> steps;
    std::string backend;
    bool saved_too = false;  // the steps write what the node saved as well
    bool cheap = false;      // NodeKernels::recompute_always
  };
  Status restore(const std::string& node);
  void drop_cheap_inputs(const Step& step);

  StepList& steps_;
  std::map<std::string, Dropped> dropped_;        // by node
  std::map<std::string, std::string> producers_;  // node that makes a dropped value
};

}  // namespace mangrove
