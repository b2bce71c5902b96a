#include "mangrove/train/data_parallel/hybrid_check.h"

#include <string>

#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/trainable.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/layer_pair.h"

namespace mangrove::train {
namespace {

Status cannot(const std::string& what) {
  return make_error(Code::invalid_argument, what);
}

}  // namespace

Status check_hybrid(const TrainJob& job, const Graph& graph, const Hyperparameters& recipe) {
  MG_RETURN_IF_ERROR(learn::check_trainable(graph));
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  if (layer_pairs(graph).empty())
    return cannot("strategy: '" + job.strategy() +
                  "' divides two fully connected layers (Gemm) that follow each other, with activations or dropout "
                  "between them, and the network has none; use all_reduce");
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe.optimizer.name));
  if (optimizer->is_layer_wise)
    return cannot("optimizer: '" + recipe.optimizer.name + "' needs the norm of each layer, and with strategy '" +
                  job.strategy() + "' no worker has the whole of a divided layer; use another optimizer");
  if (recipe.optimizer.clip_norm > 0)
    return cannot("clip_norm: no worker has the norm of the whole gradient with strategy '" + job.strategy() +
                  "'; use clip_value");
  if (!is_plain(job.codec())) return cannot("codec: strategy '" + job.strategy() + "' sends plain floats");
  return {};
}

}  // namespace mangrove::train
