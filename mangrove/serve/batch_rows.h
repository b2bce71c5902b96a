#pragma once

#include <cstddef>
#include <cstdint>

#include "mangrove/graph/graph.h"

namespace mangrove::serve {

/// Where some samples of a dense array lie, along its batch dimension.
template <class Byte>
struct BatchRows {
  Byte* data = nullptr;    // of the whole array
  std::int64_t size = 1;   // samples of the whole array
  std::int64_t first = 0;  // of those that are meant
};

/// Copies `count` samples of a value; all of one without a batch dimension.
void copy_rows(const ValueInfo& info, BatchRows<const std::byte> from, BatchRows<std::byte> to, std::int64_t count);

/// Fills `count` samples with zeros; nothing of a value without a batch dimension.
void clear_rows(const ValueInfo& info, BatchRows<std::byte> rows, std::int64_t count);

}  // namespace mangrove::serve
