#include "mangrove/infer/strategy.h"

#include <array>

#include "mangrove/infer/ensemble/ensemble.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/pipeline/pipeline.h"
#include "mangrove/infer/pipeline/single.h"
#include "mangrove/infer/tiers/tiers.h"
#include "mangrove/infer/tiles/tiles.h"
#include "mangrove/infer/views/views.h"

namespace mangrove::infer {
namespace {

constexpr std::array kStrategies = {
    Strategy{
        .name = "pipeline",
        .summary = "stages of the network on different nodes, fed with micro-batches (Huang et al., GPipe, NeurIPS "
                   "2019; forward only)",
        .on_loss = "the stages of a lost node move to a spare one, or all are cut anew for the others; micro-batches "
                   "without an answer are sent again",
        .takes_requests = true,
        .checks_answers = true,
        .run = &run_pipeline},
    Strategy{.name = "tiles",
             .summary = "the maps of the network in tiles on different nodes, which compute one image together (Zhao, "
                        "Barijough & Gerstlauer, DeepThings, IEEE TCAD 2018)",
             .on_loss = "the tiles are placed anew on the other nodes; micro-batches without an answer are sent again",
             .takes_requests = true,
             .run = &run_tiles},
    Strategy{.name = "single",
             .summary = "the whole network on the fastest node",
             .on_loss = "the next fastest begins anew",
             .run = &run_single},
    Strategy{.name = "ensemble",
             .summary = "several networks, each for some of the classes, on different nodes: one-vs-rest",
             .on_loss = "another node begins anew with the network that a lost one had",
             .networks = Networks::members,
             .run = &run_ensemble},
    Strategy{.name = "averaging",
             .summary = "several networks, each for all classes, on different nodes: the mean of their probabilities",
             .on_loss = "as for ensemble",
             .networks = Networks::members,
             .run = &run_averaging},
    Strategy{.name = "tiers",
             .summary = "a network on each of end devices, edge servers and cloud: a first answer, then a finer one",
             .on_loss = "as the fault policy says",
             .networks = Networks::of_tiers,
             .run = &run_tiers},
    Strategy{.name = "views",
             .summary = "a network over devices that each see a part of the image (Teerapittayanon, McDanel & Kung, "
                        "DDNN, ICDCS 2017)",
             .on_loss = "what a lost device would make of zeros stands in its place; the upper part is computed "
                        "elsewhere",
             .networks = Networks::with_views,
             .run = &run_views},
};

}  // namespace

std::span<const Strategy> strategies() {
  return kStrategies;
}

Status run_inference(const InferJob& job, job::RoleContext& context) {
  MG_RETURN_IF_ERROR(check_job(job));
  MG_TRY(const Strategy* strategy, find_strategy(job.strategy()));
  return strategy->run(job, context);
}

}  // namespace mangrove::infer
