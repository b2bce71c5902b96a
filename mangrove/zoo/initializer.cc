#include "mangrove/zoo/initializer.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "mangrove/base/check.h"

namespace mangrove::zoo {
namespace {

double deviation(const Initializer& initializer, Fans fans) {
  using Fan = Initializer::Fan;
  const auto in = static_cast<double>(fans.in), out = static_cast<double>(fans.out);
  switch (initializer.fan) {
    case Fan::none:
      return initializer.value;
    case Fan::in:
      return std::sqrt(initializer.value / in);
    case Fan::out:
      return std::sqrt(initializer.value / out);
    case Fan::mean:
      return std::sqrt(initializer.value / ((in + out) / 2));
  }
  return 0;
}

double truncated(Random& random) {
  for (;;) {
    const double drawn = random.normal();
    if (std::abs(drawn) <= 2) return drawn;
  }
}

}  // namespace

void initialize(const Initializer& initializer, Fans fans, Random& random, std::span<float> weights) {
  using Distribution = Initializer::Distribution;
  const double scale = deviation(initializer, fans);
  const double limit = std::sqrt(3.0) * scale;  // of the uniform distribution with that deviation
  for (float& weight : weights) {
    switch (initializer.distribution) {
      case Distribution::uniform:
        weight = static_cast<float>(random.uniform(-limit, limit));
        break;
      case Distribution::normal:
        weight = static_cast<float>(scale * random.normal());
        break;
      case Distribution::truncated_normal:
        weight = static_cast<float>(scale * truncated(random));
        break;
    }
  }
}

void initialize_orthogonal(std::int64_t n, Random& random, std::span<float> weights) {
  const auto size = static_cast<std::size_t>(n);
  MG_CHECK(weights.size() == size * size);
  std::vector<std::vector<double>> rows(size, std::vector<double>(size));
  // modified Gram-Schmidt, twice for every row, which makes it orthogonal to rounding
  for (std::size_t i = 0; i < size; ++i) {
    for (double& element : rows[i]) element = random.normal();
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        const double overlap = std::inner_product(rows[i].begin(), rows[i].end(), rows[j].begin(), 0.0);
        for (std::size_t k = 0; k < size; ++k) rows[i][k] -= overlap * rows[j][k];
      }
      const double length = std::sqrt(std::inner_product(rows[i].begin(), rows[i].end(), rows[i].begin(), 0.0));
      for (double& element : rows[i]) element /= length;
    }
    for (std::size_t k = 0; k < size; ++k) weights[i * size + k] = static_cast<float>(rows[i][k]);
  }
}

}  // namespace mangrove::zoo
