#pragma once

#include "tests/graph/small_networks.h"
#include "tests/train/role_world.h"

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"

namespace mangrove::infer {

/// Classifies the first `samples` test glyphs with small_graph() in this many stages.
InferJob small_job(std::int64_t samples, int stages);

/// small_graph(), all of whose outputs are `shift` higher, and with these classes (JSON). Its decisions are the same.
std::string ensemble_member(const std::string& classes, float shift = 0);
constexpr const char* kAllGlyphs = R"(["0","1","2","3","4","5","6","7","8","9"])";
/// small_job() of these networks, with a strategy for several.
InferJob ensemble_job(const std::string& strategy, std::int64_t samples, const std::vector<std::string>& members);

/// As run_inference(), but each task of a device of a tier takes 10 ms by the device's own account: what threads of the
/// test take from each other does not decide which of equal devices gets tasks.
Status run_evenly(const InferJob& job, job::RoleContext& context);

/// Runs the job on this many nodes.
RoleWorld::Outcome infer(const InferJob& job, int nodes);
RoleWorld::Outcome infer(const InferJob& job, RoleWorld& world);

/// Every image was answered once, as the unsplit network answers it.
void expect_exact(const RoleWorld::Outcome& outcome, std::int64_t images, const std::string& where);

}  // namespace mangrove::infer
