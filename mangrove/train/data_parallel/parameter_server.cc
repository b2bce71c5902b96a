#include "mangrove/train/data_parallel/parameter_server.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/asynchronous_server.h"
#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/data_parallel/private_server.h"
#include "mangrove/train/data_parallel/synchronous_server.h"
#include "mangrove/train/data_parallel/worker.h"
#include "mangrove/train/data_parallel/worker_momentum.h"
#include "mangrove/train/rows.h"

namespace mangrove::train {
namespace {

Status run_server(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(const Consistency consistency, parse_consistency(job.consistency()));
  MG_RETURN_IF_ERROR(check_enough_nodes(consistency, job.consistency(), context.endpoint.size() - 1));
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  using Kind = Consistency::Kind;
  if (consistency.kind == Kind::async || consistency.kind == Kind::stale) {
    MG_TRY(const auto server, AsynchronousServer::create(job, context, std::move(graph), recipe, consistency.bound));
    return server->run();
  }
  Hyperparameters server_recipe = recipe;
  if (uplink_has_momentum(job, recipe)) server_recipe.optimizer = without_momentum(recipe.optimizer);
  MG_RETURN_IF_ERROR(check_private_network(job, graph));
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), server_recipe));
  if (privacy_of(job)) return PrivateServer(job, context, recipe, std::move(model)).run();
  return SynchronousServer(job, context, recipe, std::move(model), static_cast<std::size_t>(consistency.bound)).run();
}

}  // namespace

Status run_parameter_server(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_server(job, context) : run_worker(job, context);
}

Strategy rows::parameter_server() {
  return {{.name = "parameter_server",
           .summary = "data parallelism around one server, synchronous or not: see consistency (Li et al., Scaling "
                      "distributed machine learning with the parameter server, OSDI 2014)",
           .on_loss = "a worker's unfinished samples go to the others; training ends only when no worker is left"},
          {.has_server = true, .sends_gradients = true, .collects_vectors = true, .vectors_held = 4},
          &run_parameter_server};
}

}  // namespace mangrove::train
