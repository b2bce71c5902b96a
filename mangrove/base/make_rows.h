#pragma once

#include <cstddef>
#include <vector>

namespace mangrove {

/// The rows of a table whose rows are in files of their own. Each file has a function that makes its row. A macro lists
/// the names of these functions once; it declares them, and it fills the array. So a new row is one more name:
///
///   #define MG_CODECS none, fp16, int8
///   using MakeRow = CodecRow();
///   MakeRow MG_CODECS;
///   inline constexpr MakeRow* kAll[] = {MG_CODECS};
///
/// The rows have the order of the functions.
template <class Row, std::size_t n>
std::vector<Row> make_rows(Row (*const (&functions)[n])()) {
  std::vector<Row> rows;
  rows.reserve(n);
  for (const auto function : functions) rows.push_back(function());
  return rows;
}

}  // namespace mangrove
