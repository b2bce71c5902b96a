#include "mangrove/train/aggregation/rules/krum_scores.h"
#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {
namespace {

/// The vector that has the most others near it: the one of the least score, see by_krum_score().
///
/// liars   f, of at least 2f + 3 vectors. The result is some worker's vector, as it was sent.
/// cost    n^2 d / 2, for n vectors of d elements.
/// source  Blanchard, El Mhamdi, Guerraoui & Stainer, Machine learning with adversaries: Byzantine tolerant gradient
///         descent, NIPS 2017.
class Krum final : public Aggregation {
 public:
  explicit Krum(std::size_t liars) : liars_(liars) {}
  std::size_t least() const override { return 2 * liars_ + 3; }
  std::size_t liars(std::size_t) const override { return liars_; }
  void combine(const Vectors& vectors, std::size_t liars, std::span<float> out) const override {
    vectors.read(by_krum_score(vectors, liars).front(), 0, out);
  }

 private:
  const std::size_t liars_;
};

}  // namespace

AggregationRow krum() {
  return {.name = "krum",
          .summary =
              "the one vector that has the most others near it (Blanchard et al., Machine learning with "
              "adversaries, NIPS 2017)",
          .parameters = {kLiars},
          .make = [](std::span<const double> arguments) -> std::unique_ptr<Aggregation> {
            return std::make_unique<Krum>(static_cast<std::size_t>(arguments[0]));
          }};
}

}  // namespace mangrove::train::rules
