#include <algorithm>
#include <numeric>

#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {
namespace {

/// values: changes their order.
float mean_without_ends(std::span<float> values, std::size_t dropped) {
  std::sort(values.begin(), values.end());
  const std::span<const float> kept = values.subspan(dropped, values.size() - 2 * dropped);
  return static_cast<float>(std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size()));
}

/// The mean of each element without its f smallest and its f largest values.
///
/// liars   f, of at least 2f + 1 vectors: what is left lies between two honest values.
/// cost    n log n d, for n vectors of d elements.
/// source  Yin, Chen, Ramchandran & Bartlett, Byzantine-robust distributed learning: towards optimal statistical rates,
///         ICML 2018.
class TrimmedMean final : public Aggregation {
 public:
  explicit TrimmedMean(std::size_t liars) : liars_(liars) {}
  std::size_t least() const override { return 2 * liars_ + 1; }
  std::size_t liars(std::size_t) const override { return liars_; }
  void combine(const Vectors& vectors, std::size_t liars, std::span<float> out) const override {
    by_element(vectors, out, [&](std::span<float> values) { return mean_without_ends(values, liars); });
  }

 private:
  const std::size_t liars_;
};

}  // namespace

AggregationRow trimmed_mean() {
  return {.name = "trimmed_mean",
          .summary = "the mean of each element without its f smallest and f largest values (Yin et al., ICML 2018)",
          .parameters = {kLiars},
          .make = [](std::span<const double> arguments) -> std::unique_ptr<Aggregation> {
            return std::make_unique<TrimmedMean>(static_cast<std::size_t>(arguments[0]));
          }};
}

}  // namespace mangrove::train::rules
