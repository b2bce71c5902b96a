#include <algorithm>
#include <vector>

#include "mangrove/graph/operator.h"
#include "mangrove/graph/operators/rows.h"

namespace mangrove {

std::span<const Operator> operators() {
  static const std::vector<Operator> table = {
      rows::add(),
      rows::average_pool(),
      rows::conv(),
      rows::dropout(),
      rows::flatten(),
      rows::gemm(),
      rows::global_average_pool(),
      rows::identity(),
      rows::matmul(),
      rows::max_pool(),
      rows::relu(),
      rows::reshape(),
      rows::sigmoid(),
      rows::softmax(),
      rows::tanh(),
  };
  return table;
}

const Operator* find_operator(std::string_view type) {
  const std::span<const Operator> table = operators();
  const auto row =
      std::lower_bound(table.begin(), table.end(), type,
                       [](const Operator& candidate, std::string_view key) { return candidate.type < key; });
  return row != table.end() && row->type == type ? &*row : nullptr;
}

}  // namespace mangrove
