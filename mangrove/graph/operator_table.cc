#include <algorithm>
#include <vector>

#include "mangrove/graph/operator.h"
#include "mangrove/graph/operators/rows.h"

namespace mangrove {
namespace {

std::vector<Operator> sorted_table() {
  std::vector<Operator> table;
  for (const auto family :
       {rows::activations, rows::arithmetic, rows::constants, rows::convolutions, rows::indexing, rows::logic,
        rows::movement, rows::normalizations, rows::pools, rows::products, rows::quantization, rows::recurrent,
        rows::reductions, rows::regularization, rows::shapes, rows::softmaxes}) {
    for (Operator& row : family()) table.push_back(std::move(row));
  }
  std::sort(table.begin(), table.end(), [](const Operator& a, const Operator& b) { return a.type < b.type; });
  return table;
}

}  // namespace

std::span<const Operator> operators() {
  static const std::vector<Operator> table = sorted_table();
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
