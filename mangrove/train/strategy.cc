#include "mangrove/train/strategy.h"

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/make_rows.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/rows.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/shards/leader.h"

namespace mangrove::train {
namespace {

Status check_split(const TrainJob& job, const Strategy& strategy) {
  MG_TRY(const DataSplit split, parse_split(job.split()));
  using Kind = DataSplit::Kind;
  if (strategy.has_own_data || split.kind == Kind::iid || split.kind == Kind::shards) return {};
  return make_error(Code::invalid_argument, "split: '" + job.split() +
                                                "' gives each worker samples of its own, but with "
                                                "strategy '" +
                                                std::string(strategy.name) +
                                                "' all workers share all samples; use one of " +
                                                strategies_with(&Strategy::has_own_data) + ", or split iid or shards");
}

}  // namespace

std::span<const Strategy> strategies() {
  static const std::vector<Strategy> kRows = make_rows(rows::kAll);
  return kRows;
}

Status run_training(const TrainJob& job, job::RoleContext& context) {
  MG_RETURN_IF_ERROR(check_job(job));
  MG_TRY(const Strategy* strategy, find_strategy(job.strategy()));
  MG_RETURN_IF_ERROR(check_split(job, *strategy));
  MG_TRY(const bool from_cluster, is_from_cluster(job));
  if (!from_cluster || context.endpoint.rank() != 0) return strategy->run(job, context);
  MG_TRY(const std::unique_ptr<ShardLeader> shards, ShardLeader::create(job, context));
  return strategy->run(job, shards->context());
}

}  // namespace mangrove::train
