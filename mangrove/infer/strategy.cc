#include "mangrove/infer/strategy.h"

#include <vector>

#include "mangrove/base/make_rows.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/rows.h"

namespace mangrove::infer {
std::span<const Strategy> strategies() {
  static const std::vector<Strategy> kRows = make_rows(rows::kAll);
  return kRows;
}

Status run_inference(const InferJob& job, job::RoleContext& context) {
  MG_RETURN_IF_ERROR(check_job(job));
  MG_TRY(const Strategy* strategy, find_strategy(job.strategy()));
  return strategy->run(job, context);
}

}  // namespace mangrove::infer
