#pragma once

#include <optional>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/privacy/accountant.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What the key `privacy` asks for.
struct PrivacyOptions {
  privacy::Budget budget;
  double clip = 1;   // the most, as a Euclidean norm, that one sample or worker changes the sum of a step
  double noise = 0;  // standard deviation by clip; 0: as little as keeps all steps of the job within the budget
};

/// Reads "epsilon=2,delta=1e-5", in any order, with ",clip=1" and ",noise=1.1" or without. "none" (also ""): nothing.
/// errors: invalid_argument (another text, a number out of its range: names it).
Result<std::optional<PrivacyOptions>> parse_privacy(const std::string& text);

/// Checks the job's `privacy`. errors: invalid_argument (its text; a strategy or another key with which nothing would
/// be promised): names the key and says why.
Status check_privacy(const TrainJob& job);
/// Checks that the job's network can be trained with `privacy`. errors: invalid_argument (it has states, such as
/// running statistics).
Status check_private_network(const TrainJob& job, const Graph& graph);

/// REQUIRES check_privacy.
std::optional<PrivacyOptions> privacy_of(const TrainJob& job);
/// Whether workers clip the gradient of each sample (see learn::Replica::add_clipped_gradients).
bool clips_samples(const TrainJob& job);

}  // namespace mangrove::train
