#pragma once

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A network whose file fixes the batch to 1, as PyTorch writes it where nobody asks for more, for any batch: its
/// inputs have N in place of a leading 1. What a shape says of the batch follows: a Reshape keeps it, what is joined to
/// samples is repeated for each. Nothing is guessed: the network is opened only if
///   every operator that meets the batch is known to compute each sample by itself,
///   samples stay apart in every shape (see SampleOrder),
///   and with N = 1 every value has the shape that the file has.
/// So sample n of a batch gives what the file gives for that sample alone.
///
/// Where several shapes are possible for a Reshape ([T, h d] of T N h heads), one is tried after the other.
/// graph: every input has sizes only. cost: as Graph::create, times a small number where shapes must be tried.
/// errors: failed_precondition (no input has a leading 1, one is symbolic), unimplemented (it cannot be opened: names
/// the node that keeps it from that, what was found, and the flag that helps).
Result<Graph> open_batch(const Graph& graph);

/// Whether open_batch may have a try: every input has sizes only, and the first a leading 1.
bool has_batch_of_one(const Graph& graph);

}  // namespace mangrove
