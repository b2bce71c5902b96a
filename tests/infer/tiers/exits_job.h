#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/infer/inference_job.h"

#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

constexpr std::int64_t kSamples = 30, kBatch4 = 4;
constexpr std::size_t kBatches = 8;
// Ranks of exits_job().
constexpr net::Rank kEnd = 1, kEdge = 3, kCloud = 4;
constexpr int kRanks = 5;
constexpr Bytes kBehindFirst = 12 * 4, kBehindSecond = 2 * 12 * 4;  // "a"; "a" and "d"

/// Three exits; "a" skips the second.
Graph exits_graph();

/// Two end devices, an edge server and the cloud; one network over them.
InferJob exits_job(const std::string& scheduler, const std::string& policy, const std::vector<float>& thresholds,
                   int on_end = 1);

/// The same on three levels: end devices have the first exit, the edge server the second, the cloud the third.
InferJob levels_job(const std::string& policy, const std::vector<float>& thresholds);

/// Where each sample leaves, and its class there.
struct Left {
  std::size_t exit = 0;
  std::int32_t label = -1;
  bool operator==(const Left&) const = default;
};
using AllLeft = std::vector<Left>;

/// On one device. entropies: unless null, [sample][exit], of those exits that it came to.
AllLeft on_one_device(const Graph& graph, const std::vector<float>& thresholds,
                      std::vector<std::vector<float>>* entropies = nullptr);
AllLeft on_one_device(const std::vector<float>& thresholds);  // exits_graph()

/// Those that about half of the samples that come to an exit leave at.
std::vector<float> middle_thresholds(const Graph& graph = exits_graph());

/// In virtual time. other_data: what ranks have in place of the job's data.
RoleWorld::Outcome run_exits(
    const InferJob& job, const std::function<void(RoleWorld&)>& prepare = [](RoleWorld&) {},
    const std::map<net::Rank, std::string>& other_data = {});

using Changes = std::vector<std::pair<std::string, std::function<void(TierAnswer&)>>>;
/// The job with a device that changes its answers of that kind, but not those that times are measured with.
/// changed: how many.
RoleWorld::Outcome run_with_liar(const InferJob& job, net::Rank rank, Answer answer,
                                 const std::function<void(TierAnswer&)>& change, int& changed);

/// The last answer to each image. No image has two first, second or third answers, and it has a later one exactly if it
/// stayed with the one before.
AllLeft last_answers(const RoleWorld::Outcome& outcome, const std::string& where);

/// How many such answers the tier gave.
std::ptrdiff_t answers_of(const RoleWorld::Outcome& outcome, const std::string& tier_name, const std::string& answer);

/// How many answers of that device counted.
int answers_of(const RoleWorld::Outcome& outcome, net::Rank rank);

/// Whether that device was there when tasks were given out, and then was not.
bool was_lost(const RoleWorld::Outcome& outcome, net::Rank rank);

/// The result's entry for that tier.
nlohmann::json tier(const nlohmann::json& result, const std::string& name);

}  // namespace mangrove::infer
