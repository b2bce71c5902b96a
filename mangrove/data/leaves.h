#pragma once

#include <cstdint>
#include <memory>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// `leaves`: single leaves with the marks of nine diseases of the tomato as a child would draw them, or healthy,
/// [3, 64, 64], 2,000 to train and 500 to test, as many of each class: for trying out what photographs of leaves are
/// for where there are none. A sample is drawn when it is read, from (seed, split, index) alone, bit-equal in every
/// process and on every machine with IEEE arithmetic: outline, place, size, direction, colours, light, marks and noise
/// differ. Values are multiples of 1/255.
std::shared_ptr<const Dataset> make_leaves(Split split, std::uint64_t seed = 1);

}  // namespace mangrove::data
