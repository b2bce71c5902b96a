#pragma once

#include "mangrove/sim/simulation.h"

namespace mangrove::sim {

/// For a job of which only the time is to be known: what its devices play in its place.
///
/// Inference: its own networks, without their kernels. Every answer is of the first class, and what is reported has no
/// answers and no accuracy.
///
/// Training: a stand-in, a network of a single layer and samples of a few zeros, as many and of the same classes as the
/// job's own, by the very strategy and in as many steps. The options are changed so that computing takes the time of
/// the job's own network, and messages that of as many bytes as its values have: as floats, or as its codec makes them
/// of random updates (measured once). What is reported has no loss and no accuracy, and no model.
///
/// Not modelled: buckets of all_reduce (the stand-in has one), and that a codec has nothing to send in its first
/// message. errors: invalid_argument (what goes by what is learnt, computed or measured: patience, codec auto,
/// codec_warmup, exit_thresholds; names the key); unimplemented (pipelined training); those of opening the data and of
/// parse_onnx.
Result<cluster::JobSpec> model(const cluster::JobSpec& job, SimulationOptions& options);

}  // namespace mangrove::sim
