#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/engine/layout.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

enum class Mode { inference, training };

/// A buffer that a step reads or writes.
struct Operand {
  enum class Kind {
    value,     // a value of the graph: input, parameter, activation
    gradient,  // the derivative of the loss with respect to that value
    random,    // 16 bytes, read only: the seed and the number of this run (RandomState), the same in a run's
               // forward and backward and when a step is run again; its name is not looked at
    saved,     // private to one node, kept from forward to backward (e.g. where the maxima were)
  };
  enum class Access {
    read,
    write,
    update,  // a state (Operator::states), plain: read and written in place
  };

  Kind kind;
  Access access;
  std::string name;       // the value's name; for saved: chosen by the node's kernels
  LayoutPtr layout = {};  // the layout this step wants (read) or makes (write); null: plain. Not for saved.
  Bytes saved_bytes = 0;  // size of a saved buffer; the same wherever it is named
};

/// What a step that draws random numbers starts from; the numbers must depend on nothing else but the node's name.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t run = 0;  // forward passes since Execution::seed
};

/// Where an operand of a sliced step lies: slice i at start + i * stride.
struct SliceBuffer {
  std::byte* start;
  std::ptrdiff_t stride;
};

/// A step made for running on one slice of the batch after another, in rising order.
struct SlicedStep {
  using Bound = std::function<void(int slice)>;
  Bytes workspace = 0;
  bool keeps_workspace = false;  // what is in it at the end of a slice must be there in the next one
  std::function<Bound(std::span<const SliceBuffer> buffers, std::byte* workspace)> bind = {};
};

/// How a step can be run on equal slices of the batch.
struct Slicing {
  std::vector<bool> split;  // per operand: slice i uses the i-th part of its memory; else every slice uses all of it
  std::function<Result<SlicedStep>(int slices)> make;
};

/// One call into a backend, e.g. one oneDNN primitive.
///
/// A step states the layouts that it wants; the program inserts reorders wherever a value lies otherwise, and turns a
/// gradient that a second consumer writes into an addition, so no kernel thinks about either.
struct Step {
  /// Runs the step on the buffers it was bound to. threads: one at a time per bound step.
  using Bound = std::function<void()>;

  std::string name;  // "conv1 forward", for profiles
  std::string node;  // the node it belongs to; "" for none
  std::vector<Operand> operands;
  Bytes workspace = 0;  // scratch space that only this step uses while it runs
  /// {i, j}: output operand j may lie in the same memory as input operand i (the step then reads each element before it
  /// writes it). The planner uses it where the input is not needed later.
  std::optional<std::pair<std::size_t, std::size_t>> in_place;
  /// The step copies operand 0 to operand 1, byte by byte: they may lie in the same memory even while both are needed,
  /// as long as no other step writes one of them.
  bool is_view = false;
  /// buffers[k] is where operand k lies (64-byte aligned); they and the workspace stay valid as long as the Bound.
  std::function<Bound(std::span<std::byte* const> buffers, std::byte* workspace)> bind;
  std::optional<Slicing> slicing = {};  // nothing: the step only runs on the whole batch
};

/// What a value was dequantized from, (x - zero point) scale: a kernel that multiplies bytes reads x in its place.
struct Dequantized {
  std::string name;                    // x: u8, i8 or i32
  ValueInfo info = {};                 // of x, batch bound
  LayoutPtr layout = {};               // how x lies now
  const Tensor* scale = nullptr;       // f32: one for all, or one each along `axis`
  const Tensor* zero_point = nullptr;  // likewise, of x's type; null: zero
  std::size_t axis = 0;
};

/// A node that is computed inside the kernels of one before it: the activation behind a convolution, say.
struct FusedNode {
  const Node& node;
  std::size_t input = 0;  // which of its inputs is the result of the node before
  // as in KernelRequest, parallel to node.inputs
  std::vector<ValueInfo> inputs = {};
  std::vector<const Tensor*> constants = {};
  std::vector<LayoutPtr> layouts = {};
  std::vector<std::optional<Dequantized>> dequantized = {};
  std::vector<bool> wants_gradient = {};
};

/// All that a backend needs to make kernels for one node and those fused into it.
struct KernelRequest {
  const Node& node;
  std::vector<FusedNode> epilogue = {};  // computed on the node's result, in order: residual Add, activation
  std::vector<ValueInfo> inputs = {};    // batch bound; parallel to node.inputs
  std::vector<ValueInfo> outputs = {};
  std::vector<std::string> output_names = {};  // of the last node of the epilogue, else of the node
  std::vector<const Tensor*> constants = {};   // per input: its value where it is an untrained initializer, else null
  std::vector<LayoutPtr> layouts = {};         // per input: how it lies now
  /// Empty, or per input what its kernels read instead, where it is a DequantizeLinear: nobody makes its floats.
  std::vector<std::optional<Dequantized>> dequantized = {};
  std::vector<bool> own_parameter = {};   // per input: a parameter that no other node reads: it lies as this node's
                                          // forward step asks, and need not be reordered to any other layout
  std::vector<bool> wants_gradient = {};  // per input: backward must write its gradient (training only)
  Mode mode = Mode::inference;
  bool fast_convolution = true;  // CompileOptions
  int threads = 1;               // kernel threads that will run the steps; some kernels split work by it
};

/// A node's steps. Convention: a value lies as its producer's forward step wrote it (a parameter: as its first consumer
/// wants it), and its gradient lies in the same layout, unless a step asks otherwise for its own use.
struct NodeKernels {
  std::vector<Step> forward;
  std::vector<Step> backward;  // in execution order; empty in inference
  /// Training: how to make the outputs once more during the backward pass, from the inputs and what forward saved.
  /// Empty: forward's steps again (they must then update no state).
  std::vector<Step> recompute = {};
  /// Making the outputs again costs so little that they are not kept, unless what they are made from is not kept
  /// either.
  bool recompute_always = false;
};

}  // namespace mangrove
