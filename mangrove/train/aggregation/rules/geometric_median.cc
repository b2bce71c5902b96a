#include <algorithm>
#include <numeric>

#include "mangrove/base/median.h"
#include "mangrove/train/aggregation/rules/distances.h"
#include "mangrove/train/aggregation/rules/element_median.h"
#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {
namespace {

constexpr double kSmoothing = 1e-6;  // of the median distance: the least distance that a vector counts with

/// The point with the least sum of distances to all vectors, by Weiszfeld's algorithm: each iteration goes to the mean
/// of the vectors, weighted by 1 / max(nu, distance). It begins at the median of each element, where lies have not
/// drawn it far away.
///
/// liars   less than half: the point is then within a few times the spread of the honest vectors.
/// cost    3 n d for each iteration, for n vectors of d elements.
/// source  Pillutla, Kakade & Harchaoui, Robust aggregation for federated learning, IEEE Transactions on Signal
///         Processing 2022 (smoothed Weiszfeld; weights by samples are left out).
class GeometricMedian final : public Aggregation {
 public:
  explicit GeometricMedian(int iterations) : iterations_(iterations) {}
  std::size_t least() const override { return 3; }
  std::size_t liars(std::size_t vectors) const override { return minority_of(vectors); }
  void combine(const Vectors& vectors, std::size_t, std::span<float> out) const override {
    element_median(vectors, out);
    std::vector<double> shares = distances_to(out, vectors);
    const double nearest = kSmoothing * mangrove::median(shares);
    for (int i = 0; i < iterations_ && nearest > 0; ++i) {  // 0: most vectors are this one
      if (i > 0) shares = distances_to(out, vectors);
      for (double& share : shares) share = 1 / std::max(nearest, share);
      const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
      for (double& share : shares) share /= sum;
      move(out, vectors, shares);
    }
  }

 private:
  const int iterations_;
};

}  // namespace

AggregationRow geometric_median() {
  return {.name = "geometric_median",
          .summary =
              "the point with the least sum of distances to all vectors, by Weiszfeld's algorithm (Pillutla et "
              "al., Robust aggregation for federated learning, IEEE TSP 2022)",
          .parameters = {{.name = "iterations", .fallback = 8, .least = 1, .most = 1000, .is_whole = true}},
          .make = [](std::span<const double> arguments) -> std::unique_ptr<Aggregation> {
            return std::make_unique<GeometricMedian>(static_cast<int>(arguments[0]));
          }};
}

}  // namespace mangrove::train::rules
