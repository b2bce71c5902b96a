#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Inference with a network on each tier. End devices classify every image first, often coarsely. Edge servers or the
/// cloud replace each answer by a finer one, in the same stream of answers.
///
/// Rank 0 leads. A task is one answer to the images of one batch. Rank 0 gives tasks to devices as a scheduler says
/// (schedulers/scheduler.h). Each device has a few tasks at a time, as many as hide the way to it by the measured
/// times. A node named as a tier, or NAME-NUMBER, belongs to that tier. The others fill up end, edge and cloud in the
/// order of their ranks. A node without the data goes only to tiers that do not need it.
///
/// switching  A user may let another scheduler take over at any time: a message of job::kControlTag names it. The new
///            scheduler decides about all answers that were not given out yet. Answers that are under way are taken as
///            they come.
///
/// privacy  Devices of an untrusted tier do not get samples. Rank 0 reads the samples itself, computes the first layers
///          of the tier's network (bottom_models.h), and sends the outputs. It keeps the labels.
///
/// exits    One network with early exits may lie over all tiers, in place of one network for each (exits.h). Then an
///          image gets a second answer only if it did not leave at an exit of an end device, and a third one only if it
///          did not leave at an exit of an edge server either.
///
/// faults   As a fault policy says (fault_policy.h). A task counts once, however often it is answered. So every image
///          has exactly one first answer, and exactly one second answer if the scheduler asks for it. With exits, it
///          has exactly one more answer for each exit level at which it stayed.
///
/// cost     A device with the data reads its samples itself. A task has some tens of bytes then, and its answer about 7
///          bytes for each sample (class, confidence, truth). On an untrusted tier, a task has besides the outputs of
///          the first layers, as the tier's `privacy` encodes them. With exits, 4 w bytes go up to rank 0, and on to
///          the next tier, for each sample that stays, where w values cross the cut behind the exit.
///
/// right    Every answer comes from one whole network (or all parts of one), so it is what that network says on one
///          device. The second answer replaces the first, so the accuracy in the end is that of the tier that answered
///          last.
///
/// source   exits: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end
///          devices, ICDCS 2017; privacy: Osia et al., A hybrid deep learning architecture for privacy-preserving
///          mobile analytics, IEEE Internet of Things Journal 2020.
Status run_tiers(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
