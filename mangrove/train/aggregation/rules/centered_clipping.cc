#include <algorithm>

#include "mangrove/base/median.h"
#include "mangrove/train/aggregation/rules/distances.h"
#include "mangrove/train/aggregation/rules/element_median.h"
#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {
namespace {

/// A centre that is moved several times by the mean of the vectors' differences to it, each clipped to a length:
/// v <- v + 1/n sum over i of (x_i - v) min(1, radius / |x_i - v|). So a lie moves it by no more than radius / n.
///
/// The paper begins at the result of the step before, which a run that is resumed would not have; this begins at the
/// median of each element. radius 0: the median of the distances to the centre, at most an honest one.
///
/// liars   less than half; each draws the result away by at most radius / n in an iteration.
/// cost    3 n d for each iteration, for n vectors of d elements.
/// source  Karimireddy, He & Jaggi, Learning from history for Byzantine robust optimization, ICML 2021.
class CenteredClipping final : public Aggregation {
 public:
  CenteredClipping(double radius, int iterations) : radius_(radius), iterations_(iterations) {}
  std::size_t least() const override { return 3; }
  std::size_t liars(std::size_t vectors) const override { return minority_of(vectors); }
  void combine(const Vectors& vectors, std::size_t, std::span<float> out) const override {
    element_median(vectors, out);
    for (int i = 0; i < iterations_; ++i) {
      std::vector<double> shares = distances_to(out, vectors);
      const double radius = radius_ > 0 ? radius_ : mangrove::median(shares);
      for (double& share : shares) share = (share > radius ? radius / share : 1) / static_cast<double>(vectors.count());
      move(out, vectors, shares);
    }
  }

 private:
  const double radius_;
  const int iterations_;
};

}  // namespace

AggregationRow centered_clipping() {
  return {.name = "centered_clipping",
          .summary =
              "the mean of the differences to a centre, each clipped to a radius; 0: the median distance "
              "(Karimireddy et al., Learning from history, ICML 2021)",
          .parameters = {{.name = "radius", .fallback = 0, .least = 0, .most = 1e9},
                         {.name = "iterations", .fallback = 3, .least = 1, .most = 1000, .is_whole = true}},
          .make = [](std::span<const double> arguments) -> std::unique_ptr<Aggregation> {
            return std::make_unique<CenteredClipping>(arguments[0], static_cast<int>(arguments[1]));
          }};
}

}  // namespace mangrove::train::rules
