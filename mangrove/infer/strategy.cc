#include "mangrove/infer/strategy.h"

#include <array>
#include <string>
#include <vector>

#include "mangrove/base/nearest.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/pipeline.h"

namespace mangrove::infer {
namespace {

constexpr std::array kStrategies = {
    Strategy{
        .name = "pipeline",
        .summary = "stages of the network on different nodes, fed with micro-batches (Huang et al., GPipe, NeurIPS "
                   "2019; forward only)",
        .on_loss = "the stages of a lost node move to another one, and micro-batches without an answer are sent again",
        .run = &run_pipeline},
};

}  // namespace

std::span<const Strategy> strategies() {
  return kStrategies;
}

Status run_inference(const InferJob& job, net::RoleContext& context) {
  MG_RETURN_IF_ERROR(check_job(job));
  std::vector<std::string> names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == job.strategy()) return strategy.run(job, context);
    names.emplace_back(strategy.name);
  }
  return make_error(Code::not_found, "strategy: unknown inference strategy '" + job.strategy() + "'" +
                                         suggestion(job.strategy(), names));
}

}  // namespace mangrove::infer
