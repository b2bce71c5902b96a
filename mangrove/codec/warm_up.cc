#include "mangrove/codec/warm_up.h"

#include <cmath>

namespace mangrove::codec {

double warm_up_fraction(double fraction, std::int64_t message, std::int64_t warm_up) {
  constexpr std::int64_t kStages = 4;
  if (message >= warm_up) return fraction;
  const std::int64_t stage = kStages * message / warm_up;
  return std::pow(fraction, static_cast<double>(stage + 1) / static_cast<double>(kStages + 1));
}

}  // namespace mangrove::codec
