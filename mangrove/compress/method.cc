#include "mangrove/compress/method.h"

#include <vector>

#include "mangrove/base/make_rows.h"
#include "mangrove/compress/methods/rows.h"

namespace mangrove::compress {

std::span<const MethodRow> methods() {
  static const std::vector<MethodRow> kRows = make_rows(rows::kAll);
  return kRows;
}

}  // namespace mangrove::compress
