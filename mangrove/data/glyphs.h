#pragma once

#include <cstdint>
#include <memory>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// `glyphs`: the ten digits as a pen may draw them, [1, 28, 28], 60,000 to train and 10,000 to test, as many of each
/// digit. A sample is drawn when it is read, from (seed, split, index) alone, bit-equal in every process and on every
/// machine with IEEE arithmetic: one of several ways to write the digit, its points moved, the whole bent, turned,
/// sheared, scaled and shifted, with pens of several widths, smudges and noise. Grey levels are multiples of 1/255. The
/// classes above the digits are their kinds of strokes: straight (1, 4, 7), curved (2, 3, 5) and looped (0, 6, 8, 9).
std::shared_ptr<const Dataset> make_glyphs(Split split, std::uint64_t seed = 1);

}  // namespace mangrove::data
