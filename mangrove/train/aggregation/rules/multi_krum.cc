#include <algorithm>

#include "mangrove/train/aggregation/rules/krum_scores.h"
#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {
namespace {

/// The mean of the m vectors of the least scores, see by_krum_score().
///
/// liars   f, of at least 2f + 3 vectors, and at least f + m + 2.
/// cost    n^2 d / 2, for n vectors of d elements.
/// source  Blanchard, El Mhamdi, Guerraoui & Stainer, Machine learning with adversaries: Byzantine tolerant gradient
///         descent, NIPS 2017 (Multi-Krum).
class MultiKrum final : public Aggregation {
 public:
  /// chosen: m; 0: as many as n vectors allow, n - f - 2.
  MultiKrum(std::size_t liars, std::size_t chosen) : liars_(liars), chosen_(chosen) {}
  std::size_t least() const override { return std::max(2 * liars_ + 3, liars_ + chosen_ + 2); }
  std::size_t liars(std::size_t) const override { return liars_; }
  void combine(const Vectors& vectors, std::size_t liars, std::span<float> out) const override {
    std::vector<std::size_t> chosen = by_krum_score(vectors, liars);
    chosen.resize(chosen_ > 0 ? chosen_ : vectors.count() - liars - 2);
    std::vector<double> sums(Vectors::kBlock);
    by_block(vectors, [&](std::size_t first, std::span<const std::span<const float>> rows) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (const std::size_t i : chosen)
        for (std::size_t k = 0; k < rows[i].size(); ++k) sums[k] += rows[i][k];
      for (std::size_t k = 0; k < rows.front().size(); ++k)
        out[first + k] = static_cast<float>(sums[k] / static_cast<double>(chosen.size()));
    });
  }

 private:
  const std::size_t liars_, chosen_;
};

}  // namespace

AggregationRow multi_krum() {
  return {.name = "multi_krum",
          .summary =
              "the mean of the m vectors that have the most others near them; m 0: n - f - 2 (Blanchard et al., "
              "NIPS 2017)",
          .parameters = {kLiars, {.name = "m", .fallback = 0, .least = 0, .most = 10'000, .is_whole = true}},
          .make = [](std::span<const double> arguments) -> std::unique_ptr<Aggregation> {
            return std::make_unique<MultiKrum>(static_cast<std::size_t>(arguments[0]),
                                               static_cast<std::size_t>(arguments[1]));
          }};
}

}  // namespace mangrove::train::rules
