#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/engine/backend.h"
#include "mangrove/engine/kernel.h"
#include "mangrove/engine/recompute_plan.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

struct CompileOptions {
  Mode mode = Mode::inference;
  std::int64_t batch = 1;
  std::string backend = {};           // "" takes the fastest of this build
  bool accumulate_gradients = false;  // training: backward adds to the parameters' gradients (micro-batches of one
                                      // batch); Execution::zero_gradients starts a batch
  bool input_gradients = false;  // training: also the gradients of f32/f64 graph inputs (a stage of pipeline training)
  std::vector<std::string> recompute = {};  // training: nodes whose results are not kept for the backward pass but
                                            // made again in it, where that is possible (see recomputation.h)
  bool fuse = true;                         // activations into the node before them, and dequantization into the
                                            // products behind it, where the backend can
  bool slice = true;  // run neighbouring steps on one slice of the batch after another, where that saves memory traffic
  bool fast_convolution = true;  // convolutions by whichever algorithm is expected to be the fastest; else
                                 // all by their definition. The results differ by rounding
  int threads = 1;               // kernel threads that the steps are made for; an Execution should use as many
  bool timing_only = false;  // inference: only sizes are of interest: forward() runs no kernels, and leaves zeros in
                             // the outputs
};

/// Bytes, known before the first step.
struct MemoryReport {
  Bytes parameters = 0;   // weights and constants, and in training the weights' gradients
  Bytes arena = 0;        // activations, gradients of activations, saved buffers and workspace, overlapped by liveness
  Bytes activations = 0;  // the same without overlapping, for comparison
  Bytes total() const { return parameters + arena; }
};

/// Of one node, with what is fused into it.
struct NodeMemory {
  std::string node;
  Bytes weights = 0;  // its parameters and constants, in the layouts of its steps
  /// Inference: the most that is alive in the arena while one of its steps runs. Training: what is made by its forward
  /// steps and kept for the backward pass. 0: it has no steps.
  Bytes arena = 0;
};

/// A place in an Execution's memory.
struct BufferRef {
  enum class Region { arena, parameters } region = Region::arena;
  Bytes offset = 0;
};

/// A graph compiled for one backend, one batch size and one mode: a list of steps, each operand of which has a place in
/// memory. Immutable; run it through an Execution.
/// threads: any.
class Program {
 public:
  /// errors: invalid_argument (batch or threads < 1, unknown backend; training: see check_trainable), unimplemented (no
  /// kernel for an operator or type; an initializer that is a graph output; the message names it), those of
  /// check_operations (not with timing_only).
  static Result<std::shared_ptr<const Program>> compile(const Graph& graph, const CompileOptions& options);

  struct PlacedStep {
    Step step;                       // its `slicing` is gone; bind too, where it is `sliced`
    std::vector<BufferRef> buffers;  // parallel to step.operands
    BufferRef workspace;
    std::string backend;  // whose step it is
    // of a step in a group that is run on one slice of the batch after another
    int slices = 1;
    bool starts_group = false;
    std::optional<SlicedStep> sliced = {};
    std::vector<Bytes> strides = {};  // parallel to buffers: from one slice to the next
  };
  /// Where a value (or its gradient) can be found from outside, and how it lies.
  struct PlacedValue {
    ValueInfo info;  // batch bound
    LayoutPtr layout;
    BufferRef value;
    BufferRef gradient;  // in training: parameters, outputs, and inputs with input_gradients
    bool has_gradient = false;
    Bytes bytes = 0;                                   // in its layout
    std::shared_ptr<const Step> to_plain, from_plain;  // null where it lies plain; to_plain in a one-way layout too
  };

  const Graph& graph() const { return graph_; }
  const CompileOptions& options() const { return options_; }
  const Backend& backend() const { return *backend_; }
  MemoryReport memory() const { return memory_; }
  /// In the order of the graph's nodes.
  const std::vector<NodeMemory>& node_memory() const { return node_memory_; }

  const std::vector<PlacedStep>& forward_steps() const { return forward_; }
  const std::vector<PlacedStep>& backward_steps() const { return backward_; }
  /// Graph inputs and outputs (always plain), parameters and constants (in the layout of their first consumer).
  const std::map<std::string, PlacedValue>& placed_values() const { return values_; }
  /// Where the RandomState lies, in a program that draws random numbers.
  const std::optional<BufferRef>& random_state() const { return random_state_; }
  /// The chain that plan_recomputation cuts, in a training program that recomputes nothing; else empty.
  struct Link {
    const Node* node = nullptr;  // of graph(), with what is fused into it
    ChainLink link;              // its time is not set
    int last_reader = -1;        // the last link whose forward steps read its results; -1: none
  };
  const std::vector<Link>& chain() const { return chain_; }
  /// Sizes of the two memory regions.
  Bytes arena_bytes() const { return memory_.arena; }
  Bytes parameter_bytes() const { return memory_.parameters; }

  /// One line per step: name, backend, operands with layouts; the reorders and fusions that were chosen, and why a
  /// portable kernel was taken.
  std::string describe() const;

 private:
  friend class ProgramBuilder;
  explicit Program(Graph graph) : graph_(std::move(graph)) {}
  Graph graph_;
  CompileOptions options_;
  std::shared_ptr<const Backend> backend_;
  std::vector<PlacedStep> forward_;
  std::vector<PlacedStep> backward_;
  std::map<std::string, PlacedValue> values_;
  std::optional<BufferRef> random_state_;
  std::vector<Link> chain_;
  std::vector<std::string> notes_;  // choices made while compiling, for describe()
  MemoryReport memory_;
  std::vector<NodeMemory> node_memory_;
};

}  // namespace mangrove
