#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Pipelined inference: the network is cut into stages on different nodes, and micro-batches of samples stream through
/// them.
///
/// Rank 0 leads. First each node measures the network's operators and its link. Then one node classifies the test split
/// alone with the unsplit network: this baseline gives the speed and the predictions that the pipeline is compared
/// with. (There is no baseline for frames that a client pushes.) From the measurements rank 0 plans stages of about
/// equal time.
///
/// A micro-batch: rank 0 sends the number of its first sample and their count to a node of the first stage, which reads
/// the samples itself. (Frames are sent as image files.) Each stage sends the values that cross the cut behind it to
/// the next stage. The last stage sends the predicted classes to rank 0.
///
/// window   At most this number of micro-batches are without an answer at any time. This bounds every queue.
/// right    The stages have every operator of the network once, and a stage passes on all values that later stages
///          need. So with float32 activations the pipeline computes what the unsplit network computes. The codecs fp16
///          and int8 round the values; the result counts the predictions that differ from the baseline's.
/// faults   When a node is lost, its stages move to another node, and a new generation begins: every micro-batch
///          without an answer is sent again, and messages of older generations are ignored. A micro-batch counts once,
///          however often it is answered. So every sample is answered exactly once.
/// trust    With the key `trust`, answers are compared, and devices whose answers are wrong are left out
///          (spot_checks.h).
/// cost     For each sample and cut of w values: 4 w bytes with float32, 2 w with fp16, and about w with int8 (a scale
///          of 4 bytes for every 256 values). A message from or to the leader has some tens of bytes for each stage,
///          and 1 or 2 bytes for each sample. A node that does not have the network gets it once.
/// source   Huang et al., GPipe: Efficient training of giant neural networks using pipeline parallelism, NeurIPS 2019
///          (micro-batches); Narayanan et al., PipeDream, SOSP 2019 (stages by measured times, several nodes for one
///          stage).
Status run_pipeline(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
