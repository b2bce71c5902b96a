#include "mangrove/privacy/noise_source.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "mangrove/base/random.h"

namespace mangrove::privacy {

NoiseSource NoiseSource::of_seed(std::uint64_t seed, std::uint64_t stream) {
  return NoiseSource([random = Random(seed).fork(stream)]() mutable { return random.next(); });
}

/// In blocks: asking the system for each number would take most of the time.
NoiseSource NoiseSource::of_bytes(std::function<void(std::span<std::byte>)> fill) {
  constexpr std::size_t kBlock = 512;
  return NoiseSource([fill = std::move(fill), block = std::vector<std::uint64_t>()]() mutable {
    if (block.empty()) {
      block.resize(kBlock);
      fill(std::as_writable_bytes(std::span(block)));
    }
    const std::uint64_t bits = block.back();
    block.pop_back();  // no number serves twice
    return bits;
  });
}

double NoiseSource::uniform() {
  return static_cast<double>(bits_() >> 11) * 0x1.0p-53;
}

double NoiseSource::normal() {
  if (std::exchange(has_spare_, false)) return spare_normal_;
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void NoiseSource::add_normal(double deviation, std::span<float> values) {
  for (float& value : values) value = static_cast<float>(value + deviation * normal());
}

}  // namespace mangrove::privacy
