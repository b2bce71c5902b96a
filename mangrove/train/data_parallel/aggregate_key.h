#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/train/aggregation/aggregation.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Checks the job's key `aggregate`. errors, which name the key: not_found (an unknown rule), invalid_argument (a
/// parameter is out of its range, or with the job's strategy, consistency or codec nobody can compare the workers'
/// updates).
Status check_aggregate(const TrainJob& job);

/// The rule of a job that check_aggregate() has passed. Null: the mean.
std::unique_ptr<Aggregation> rule_of(const TrainJob& job);

/// Checks that an update is made of enough vectors for the rule. where: says for the message why there are so few, e.g.
/// "an update has those of 2". errors: invalid_argument (fewer than the rule needs).
Status check_enough_vectors(const TrainJob& job, const Aggregation& rule, std::size_t vectors,
                            const std::string& where);

}  // namespace mangrove::train
