#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Inference with a network of V views and early exits (graph/views.h), as job.model. Ranks 1 to V have one view each.
/// Each of them computes its part of the network on its view of every sample.
///
/// A micro-batch: every device sends the class scores of all samples to the leader and keeps the features. The leader
/// fuses the scores of all views and decides at the first exit. It asks the devices for the features of the samples
/// that stay. It joins these features and sends them to a rank beyond V, which computes the rest of the network and
/// answers. If there is no such rank, the leader computes the rest itself.
///
/// right    Scores and features are f32, and each part computes its part of the one network. So the answers are those
///          of the whole network on one device.
/// faults   A device is lost for the rest of the job if it is gone, leaves a question unanswered for longer than the
///          answer timeout, or has other labels than most devices. From then on its part's outputs for zeros take its
///          place. Every answer is that of the network with one set of views: if a view is lost before the features of
///          a micro-batch are there, its remaining samples are decided anew.
/// cost     For each sample and view, 4 k bytes of scores go up, where k is the number of scores of a device's part,
///          and one byte or two for the label. For each sample that stays and view, 4 w bytes of features go up, where
///          w is the number of features, and V times that to the rank with the rest.
/// source   Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
///          ICDCS 2017.
/// errors   those of the nodes; invalid_argument (fewer than V nodes; those of ViewFusion::create; the data does not
///          fit); unavailable (no device with a view is left, and one is needed).
Status run_views(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
