#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// `shared_samples` is a share that makes sense, of a job whose workers have samples of their own. errors:
/// invalid_argument: names the keys.
Status check_shared_samples(const TrainJob& job);

/// Samples that every worker learns from besides its own, so that workers whose own are of few classes do not drift as
/// far apart. They are extra: each is also one of somebody's own.
/// source  Zhao et al., Federated learning with non-IID data, 2018.
class SharedSamples {
 public:
  using Samples = std::vector<std::uint32_t>;

  /// A share of 0 .. all - 1, drawn by the seed; workers: that own all of them together.
  SharedSamples(double share, std::int64_t all, std::size_t workers, std::uint64_t seed);

  /// These samples of the worker's own with shared ones spread evenly between them: as many as there are shared ones in
  /// all for each mean share of own ones. Which they are depends on the step and the rank.
  Samples joined(const Samples& own, std::int64_t step, net::Rank rank) const;

 private:
  Random random_;
  Samples shared_;
  double per_own_;
};

}  // namespace mangrove::train
