#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Checks the key `shared_samples`: a share that makes sense, in a job whose workers have samples of their own. errors:
/// invalid_argument, which names the keys.
Status check_shared_samples(const TrainJob& job);

/// Samples that every worker learns from besides its own. They keep workers whose own samples are of few classes from
/// drifting far apart. They come on top: each of them is also one worker's own sample.
/// source  Zhao et al., Federated learning with non-IID data, 2018.
class SharedSamples {
 public:
  using Samples = std::vector<std::uint32_t>;

  /// Draws a share of the samples 0 .. all - 1 by the seed. workers: the number of workers that own all samples
  /// together.
  SharedSamples(double share, std::int64_t all, std::size_t workers, std::uint64_t seed);

  /// The worker's own samples, with shared samples spread evenly between them. As many shared samples are added to
  /// `own` as there are shared samples for each own sample of an average worker. Which ones they are depends on the
  /// step and the rank.
  Samples joined(const Samples& own, std::int64_t step, net::Rank rank) const;

 private:
  Random random_;
  Samples shared_;
  double per_own_;
};

}  // namespace mangrove::train
