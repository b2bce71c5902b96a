#pragma once

#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"

namespace mangrove::train {

/// The values that a stage, operators [first, last) of a network, receives from the stage before it and sends to the
/// next one, for one micro-batch. They are the values that cross each cut (see graph/cut.h), one after the other. A
/// value that is made before the stage and used behind it passes through. Gradients come back in the same way, for all
/// values except the network's inputs.
class StageValues {
 public:
  /// slice: graph.slice(first, last). rows: the rows of a micro-batch. errors: unimplemented (a value cannot travel,
  /// see can_be_cut).
  static Result<StageValues> of(const Graph& graph, const Graph& slice, std::size_t first, std::size_t last,
                                std::int64_t rows);

  std::size_t received() const { return received_; }  // floats
  std::size_t sent() const { return sent_; }
  std::size_t gradient_received() const { return gradient_received_; }
  std::size_t gradient_sent() const { return gradient_sent_; }

  // REQUIRES: spans of these lengths.
  void write_inputs(std::span<const float> received, Execution& stage) const;
  /// The values behind the stage: its outputs, and the values that pass through.
  void read_outputs(std::span<const float> received, Execution& stage, std::vector<float>& sent) const;
  void write_gradients(std::span<const float> received, Execution& stage) const;
  void read_gradients(std::span<const float> received, Execution& stage, std::vector<float>& sent) const;

 private:
  struct Value {
    std::string name;
    std::size_t elements = 0;
    bool is_here = false;     // in before_: an input of the slice; in behind_: an output of the slice
    bool comes_back = false;  // its gradient travels back
  };
  std::vector<Value> before_, behind_;
  std::size_t received_ = 0, sent_ = 0, gradient_received_ = 0, gradient_sent_ = 0;
};

/// Whether the network can be cut before operator `position`: every value that crosses the cut must be f32 [N, ...].
/// errors: unimplemented (names the first value that cannot travel).
Status can_be_cut(const Graph& graph, std::size_t position);

}  // namespace mangrove::train
