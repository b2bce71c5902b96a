#include "mangrove/train/strategy.h"

#include <array>
#include <string>
#include <vector>

#include "mangrove/base/nearest.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/parameter_server.h"

namespace mangrove::train {
namespace {

constexpr std::array kStrategies = {
    Strategy{.name = "parameter_server",
             .summary = "synchronous data parallelism around one server (Li et al., Scaling distributed machine "
                        "learning with the parameter server, OSDI 2014)",
             .on_loss = "a worker's samples of the step go to the others; training ends only when no worker is left",
             .run = &run_parameter_server},
};

}  // namespace

std::span<const Strategy> strategies() {
  return kStrategies;
}

Status run_training(const TrainJob& job, net::RoleContext& context) {
  MG_RETURN_IF_ERROR(check_job(job));
  std::vector<std::string> names;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == job.strategy()) return strategy.run(job, context);
    names.emplace_back(strategy.name);
  }
  return make_error(Code::not_found,
                    "strategy: unknown training strategy '" + job.strategy() + "'" + suggestion(job.strategy(), names));
}

}  // namespace mangrove::train
