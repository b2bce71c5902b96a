#pragma once

#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"

namespace mangrove::train {

/// The values that a stage of a network, operators [first, last), gets from the one before it and passes on to the
/// next, for one micro-batch: those that cross each cut (see graph/cut.h), one after the other. A value that is made
/// before the stage and used behind it passes through. Gradients come back in the same way, of all but the network's
/// inputs.
class StageValues {
 public:
  /// slice: graph.slice(first, last). rows: of a micro-batch. errors: unimplemented: a value that cannot travel: see
  /// can_be_cut.
  static Result<StageValues> of(const Graph& graph, const Graph& slice, std::size_t first, std::size_t last,
                                std::int64_t rows);

  std::size_t received() const { return received_; }  // floats
  std::size_t sent() const { return sent_; }
  std::size_t gradient_received() const { return gradient_received_; }
  std::size_t gradient_sent() const { return gradient_sent_; }

  // REQUIRES: spans of these lengths.
  void write_inputs(std::span<const float> received, Execution& stage) const;
  /// The values behind the stage, from its outputs and what passes.
  void read_outputs(std::span<const float> received, Execution& stage, std::vector<float>& sent) const;
  void write_gradients(std::span<const float> received, Execution& stage) const;
  void read_gradients(std::span<const float> received, Execution& stage, std::vector<float>& sent) const;

 private:
  struct Value {
    std::string name;
    std::size_t elements = 0;
    bool is_here = false;     // before: an input of the slice; behind: made by it
    bool comes_back = false;  // its gradient
  };
  std::vector<Value> before_, behind_;
  std::size_t received_ = 0, sent_ = 0, gradient_received_ = 0, gradient_sent_ = 0;
};

/// Whether every value that crosses the cut before operator `position` can travel between stages: f32 [N, ...]. errors:
/// unimplemented (names the first that cannot).
Status can_be_cut(const Graph& graph, std::size_t position);

}  // namespace mangrove::train
