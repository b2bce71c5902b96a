#include "mangrove/train/data_parallel/all_reduce.h"

#include <memory>
#include <utility>

#include "mangrove/graph/onnx.h"
#include "mangrove/train/data_parallel/all_reduce_leader.h"
#include "mangrove/train/data_parallel/worker.h"
#include "mangrove/train/rows.h"

namespace mangrove::train {
namespace {

Status run_all_reduce_leader(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), recipe));
  return AllReduceLeader(job, context, recipe, std::move(model)).run();
}

}  // namespace

Status run_all_reduce(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_all_reduce_leader(job, context) : run_worker(job, context);
}

Strategy rows::all_reduce() {
  return {{.name = "all_reduce",
           .summary = "synchronous data parallelism, gradients summed by the workers along a ring or a tree: see "
                      "topology (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009)",
           .on_loss = "the step begins anew with the others; training ends only when no worker is left"},
          {.sums_gradients = true, .vectors_held = 15},
          &run_all_reduce};
}

}  // namespace mangrove::train
