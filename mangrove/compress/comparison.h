#pragma once

#include <string>
#include <utility>

#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"

namespace mangrove::compress {

/// How fast a network answers one sample, and in how much memory.
struct AnswerCost {
  Seconds seconds = 0;  // mean over a turn, in the fastest turn: others on the machine only make it slower
  Bytes memory = 0;     // of the compiled program: weights and activations
};

/// Measures two networks in turn (A B A B ...), so that both see the same machine: at batch 1, rewritten for inference,
/// on the same random sample. cost: about two seconds.
/// graphs: one f32 input. errors: those of optimize, Program::compile and Execution::create.
Result<std::pair<AnswerCost, AnswerCost>> compare_answers(const Graph& before, const Graph& after,
                                                          const std::string& backend, int threads);

}  // namespace mangrove::compress
