#include "mangrove/train/strategy.h"

#include <array>
#include <memory>
#include <string>

#include "mangrove/train/data_parallel/all_reduce.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/data_parallel/federated.h"
#include "mangrove/train/data_parallel/gossip.h"
#include "mangrove/train/data_parallel/hybrid.h"
#include "mangrove/train/data_parallel/parameter_server.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/pipeline/pipeline.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/shards/fetcher.h"
#include "mangrove/train/shards/leader.h"

namespace mangrove::train {
namespace {

constexpr std::string_view kOnStageLoss =
    "training goes on from the last version that the leader has of all stages, with a spare node or fewer stages";

constexpr std::array kStrategies = {
    Strategy{.name = "parameter_server",
             .summary = "data parallelism around one server, synchronous or not: see consistency (Li et al., Scaling "
                        "distributed machine learning with the parameter server, OSDI 2014)",
             .on_loss = "a worker's unfinished samples go to the others; training ends only when no worker is left",
             .has_server = true,
             .sends_gradients = true,
             .collects_vectors = true,
             .vectors_held = 4,
             .run = &run_parameter_server},
    Strategy{.name = "all_reduce",
             .summary = "synchronous data parallelism, gradients summed by the workers along a ring or a tree: see "
                        "topology (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009)",
             .on_loss = "the step begins anew with the others; training ends only when no worker is left",
             .sums_gradients = true,
             .vectors_held = 15,
             .run = &run_all_reduce},
    Strategy{.name = "hybrid",
             .summary = "all_reduce, but groups of workers divide two large fully connected layers: see model_parallel "
                        "(Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014)",
             .on_loss = "the layers are divided among the others, and the step begins anew; training ends only when no "
                        "worker is left",
             .sums_gradients = true,
             .divides_layers = true,
             .vectors_held = 15,
             .run = &run_hybrid},
    Strategy{.name = "federated",
             .summary = "workers make steps of their own between averages: see local_steps, local_epochs (McMahan et "
                        "al., Communication-efficient learning of deep networks from decentralized data, AISTATS 2017)",
             .on_loss = "a worker's unfinished samples go to the others; training ends only when no worker is left",
             .has_server = true,
             .collects_vectors = true,
             .steps_locally = true,
             .has_own_data = true,
             .takes_shared_samples = true,
             .vectors_held = 7,
             .run = &run_federated},
    Strategy{.name = "gossip",
             .summary =
                 "workers make steps of their own and average with neighbours: see neighbours, local_steps (Lian "
                 "et al., Can decentralized algorithms outperform centralized algorithms?, NIPS 2017)",
             .on_loss = "the others average without it; its unfinished samples go to them; training ends only when no "
                        "worker is left",
             .collects_vectors = true,
             .steps_locally = true,
             .averages_with_neighbours = true,
             .has_own_data = true,
             .vectors_held = 13,
             .run = &run_gossip},
    Strategy{.name = "gpipe",
             .summary =
                 "each worker has a stage of the network; all micro-batches of a batch go forward, then all come "
                 "back: see stages, micro_batches, cut, recompute (Huang et al., GPipe, NeurIPS 2019)",
             .on_loss = kOnStageLoss,
             .pipeline = &kGpipe,
             .run = &run_pipeline},
    Strategy{.name = "one_f_one_b",
             .summary = "gpipe with a forward and a backward pass in turn, which holds fewer activations (Narayanan et "
                        "al., Memory-efficient pipeline-parallel DNN training, ICML 2021)",
             .on_loss = kOnStageLoss,
             .keys_of = "gpipe",
             .pipeline = &kOneFOneB,
             .run = &run_pipeline},
    Strategy{.name = "pipedream",
             .summary = "batches follow each other through the stages without a pause; each stage keeps older "
                        "parameters for those under way (Narayanan et al., PipeDream, SOSP 2019)",
             .on_loss = kOnStageLoss,
             .keys_of = "gpipe",
             .pipeline = &kPipeDream,
             .run = &run_pipeline},
};

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
  return kStrategies;
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
