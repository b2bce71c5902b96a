#include <algorithm>

#include "mangrove/train/aggregation/rules/element_median.h"
#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {
namespace {

float median_of(std::span<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const float below = *std::max_element(values.begin(), middle);
  return static_cast<float>((double{below} + *middle) / 2);
}

/// The median of each element.
///
/// liars   less than half: then each element lies between two honest ones.
/// cost    n d, for n vectors of d elements.
/// source  Yin, Chen, Ramchandran & Bartlett, Byzantine-robust distributed learning: towards optimal statistical rates,
///         ICML 2018.
class Median final : public Aggregation {
 public:
  std::size_t least() const override { return 3; }
  std::size_t liars(std::size_t vectors) const override { return minority_of(vectors); }
  void combine(const Vectors& vectors, std::size_t, std::span<float> out) const override {
    element_median(vectors, out);
  }
};

}  // namespace

void element_median(const Vectors& vectors, std::span<float> out) {
  by_element(vectors, out, median_of);
}

AggregationRow median() {
  return {.name = "median",
          .summary = "the median of each element (Yin et al., Byzantine-robust distributed learning, ICML 2018)",
          .parameters = {},
          .make = [](std::span<const double>) -> std::unique_ptr<Aggregation> { return std::make_unique<Median>(); }};
}

}  // namespace mangrove::train::rules
