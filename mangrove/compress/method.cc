#include "mangrove/compress/method.h"

#include <array>

#include "mangrove/compress/methods/rows.h"

namespace mangrove::compress {

std::span<const MethodRow> methods() {
  static const std::array kMethods = {rows::prune(), rows::share(), rows::channels(), rows::low_rank(), rows::train()};
  return kMethods;
}

}  // namespace mangrove::compress
