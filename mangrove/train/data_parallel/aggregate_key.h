#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/train/aggregation/aggregation.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Checks the job's `aggregate`. errors: not_found (an unknown rule), invalid_argument (a parameter out of its range; a
/// strategy, a consistency or a codec with which nobody can compare the workers' updates): name the key.
Status check_aggregate(const TrainJob& job);

/// The rule of a job that check_aggregate() has passed. Null: the mean.
std::unique_ptr<Aggregation> rule_of(const TrainJob& job);

/// errors: invalid_argument: an update is made of fewer vectors than the rule needs. where: how there come to be so
/// many, e.g. "an update has those of 2".
Status check_enough_vectors(const TrainJob& job, const Aggregation& rule, std::size_t vectors,
                            const std::string& where);

}  // namespace mangrove::train
