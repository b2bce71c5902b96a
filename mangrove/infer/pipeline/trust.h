#pragma once

#include <optional>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/pipeline/spot_checks.h"
#include "mangrove/infer/pipeline/stage_plan.h"
#include "mangrove/infer/pipeline/stream.h"
#include "mangrove/infer/reports.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// The spot checks that the job's key `trust` asks for. Nothing: none. REQUIRES: check_job.
std::optional<SpotChecks> make_spot_checks(const InferJob& job, const job::RoleContext& context);

/// Whether spot checks can find a device. nodes: how many can work. plan: what the job has asked for; if it has left
/// the choice to the planner, stream_through() finds another plan where need be. has_known: the answers to all samples
/// are known. errors: failed_precondition (fewer than three nodes, or nothing to compare the answers of a stage with).
Status check_trust(const InferJob& job, const StagePlan& plan, std::size_t nodes, bool has_known,
                   const Reports& reports);

TrustReport trust_report(const InferJob& job, const SpotChecks& checks, bool has_known, const StreamResult& streamed,
                         const Reports& reports);

}  // namespace mangrove::infer
