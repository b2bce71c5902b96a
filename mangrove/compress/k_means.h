#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mangrove::compress {

/// Numbers in groups of near ones.
struct Clusters {
  std::vector<float> centres;     // rising; none is of an empty cluster
  std::vector<std::uint32_t> of;  // of each number: which centre is the nearest; of two as near the lower one
};

/// Lloyd's k-means in one dimension, with centres that begin evenly between the least and the greatest number ("linear
/// initialisation": few weights are large, but these matter most). Ends when no number changes its cluster, after at
/// most 300 rounds. At most `clusters` centres; fewer where some have no numbers.
/// numbers: finite. cost: sorting them, then clusters x log n a round.
/// source: Han, Mao & Dally, Deep Compression, ICLR 2016, section 3.1.
Clusters k_means(std::span<const float> numbers, std::size_t clusters);

}  // namespace mangrove::compress
