#include "mangrove/train/strategy.h"

#include <array>
#include <string>
#include <vector>

#include "mangrove/base/nearest.h"
#include "mangrove/train/all_reduce.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/parameter_server.h"

namespace mangrove::train {
namespace {

constexpr std::array kStrategies = {
    Strategy{.name = "parameter_server",
             .summary = "data parallelism around one server, synchronous or not: see consistency (Li et al., Scaling "
                        "distributed machine learning with the parameter server, OSDI 2014)",
             .on_loss = "a worker's unfinished samples go to the others; training ends only when no worker is left",
             .run = &run_parameter_server},
    Strategy{.name = "all_reduce",
             .summary = "synchronous data parallelism, gradients summed by the workers along a ring or a tree: see "
                        "topology (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009)",
             .on_loss = "the step begins anew with the others; training ends only when no worker is left",
             .run = &run_all_reduce},
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
