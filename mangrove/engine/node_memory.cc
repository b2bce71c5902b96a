#include "mangrove/engine/node_memory.h"

#include <algorithm>
#include <cstddef>

namespace mangrove {
namespace {

class Measuring {
 public:
  Measuring(const Graph& graph, const StepList& steps, int forward_steps)
      : steps_(steps), forward_steps_(forward_steps) {
    for (const Node& node : graph.nodes()) {
      places_.emplace(node.name, nodes_.size());
      nodes_.push_back({node.name});
    }
  }

  void add_weights() {
    std::vector<bool> seen(steps_.buffers().size(), false);
    for (int i = 0; i < forward_steps_; ++i) {
      const DraftStep& draft = steps_.steps()[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < draft.step.operands.size(); ++k) {
        const BufferId buffer = draft.buffers[k];
        const bool is_weight = draft.step.operands[k].kind == Operand::Kind::value &&
                               steps_.buffers().region(buffer) == BufferTable::Region::parameters;
        if (!is_weight || seen[static_cast<std::size_t>(buffer)]) continue;
        seen[static_cast<std::size_t>(buffer)] = true;
        if (NodeMemory* node = node_of(i)) node->weights += steps_.buffers().bytes(buffer);
      }
    }
  }

  /// The most that is alive while a step of a node runs.
  void add_living() {
    std::vector<Bytes> alive(static_cast<std::size_t>(steps_.size()), 0);
    each_buffer([&](int first, int last, Bytes bytes) {
      for (int i = first; i <= last; ++i) alive[static_cast<std::size_t>(i)] += bytes;
    });
    for (int i = 0; i < forward_steps_; ++i)
      if (NodeMemory* node = node_of(i)) node->arena = std::max(node->arena, alive[static_cast<std::size_t>(i)]);
  }

  void add_kept() {
    each_buffer([&](int first, int last, Bytes bytes) {
      NodeMemory* node = first < forward_steps_ && last >= forward_steps_ ? node_of(first) : nullptr;
      if (node != nullptr) node->arena += bytes;
    });
  }

  std::vector<NodeMemory> result() { return std::move(nodes_); }

 private:
  /// Null: the step is of no node.
  NodeMemory* node_of(int step) {
    const auto found = places_.find(steps_.steps()[static_cast<std::size_t>(step)].step.node);
    return found == places_.end() ? nullptr : &nodes_[found->second];
  }

  /// Of the arena, those that have their own memory and are used.
  template <class Take>
  void each_buffer(Take take) const {
    const BufferTable& buffers = steps_.buffers();
    for (BufferId buffer = 0; buffer < static_cast<BufferId>(buffers.size()); ++buffer) {
      const auto [first, last] = buffers.life(buffer);
      const bool is_own = buffers.owner_of(buffer) == buffer && buffers.region(buffer) == BufferTable::Region::arena;
      if (is_own && first >= 0) take(first, last, buffers.bytes(buffer));
    }
  }

  const StepList& steps_;
  const int forward_steps_;
  std::vector<NodeMemory> nodes_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace

std::vector<NodeMemory> measure_nodes(const Graph& graph, const StepList& steps, int forward_steps, Mode mode) {
  Measuring measuring(graph, steps, forward_steps);
  measuring.add_weights();
  if (mode == Mode::training) {
    measuring.add_kept();
  } else {
    measuring.add_living();
  }
  return measuring.result();
}

}  // namespace mangrove
