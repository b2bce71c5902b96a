#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/replica.h"

namespace mangrove::learn {

struct Evaluation {
  ConfusionMatrix confusion;
  double loss = 0;  // mean
};

/// Runs the whole data set through the network, its samples prepared as `augmentation` says where there is one.
/// progress: told after each batch how many samples are done.
/// errors: failed_precondition (a replica in training mode of a network that does something else in training: batch
/// normalisation, dropout); those of check_fits and Loader::next; cancelled (`stop`, looked at between batches).
Result<Evaluation> evaluate(Replica& replica, std::shared_ptr<const data::Dataset> dataset, std::stop_token stop = {},
                            std::shared_ptr<const data::Augmentation> augmentation = nullptr,
                            const std::function<void(std::int64_t done)>& progress = {});

}  // namespace mangrove::learn
