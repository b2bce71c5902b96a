#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// job.model is a network of V views with early exits (graph/views.h). Ranks 1 to V have a view each: they send class
/// scores of every sample up, and hold its features. The leader fuses the scores, decides at the first exit, asks for
/// the features of the samples that stay, and gives them, joined, to a rank beyond V, which computes the rest; where
/// there is none, it computes that itself.
///
/// A device that is gone, leaves a question unanswered for longer than the answer timeout, or says other labels than
/// most, is lost for the rest of the job: what its part makes of zeros stands in its place. Every answer is that of the
/// network with one set of views: samples that stay are decided anew where a view is lost before their features are
/// there.
/// source: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
/// ICDCS 2017.
/// errors, besides those of the nodes: invalid_argument (fewer than V nodes; those of ViewFusion::create; the data does
/// not fit), unavailable (no device with a view is left, and one is needed).
Status run_views(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
