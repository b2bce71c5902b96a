#pragma once

#include "mangrove/base/keys.h"

namespace mangrove::cli {

// What flags take that several commands have. Where training jobs have a key that means the same, it is as of the key.

WholeRange batch_range();    // samples in one pass through a network
WholeRange limit_range();    // samples of a split; 0: all
WholeRange epoch_range();    // passes over the samples
WholeRange replica_range();  // devices for one stage; 0: no limit
WholeRange seed_range();

constexpr WholeRange kThreads{.low = 1, .high = 1024};  // of a process

/// The same, and 0, where that has a meaning of its own.
constexpr WholeRange or_zero(WholeRange range) {
  return {.low = 0, .high = range.high};
}
/// Without 0.
constexpr WholeRange at_least_one(WholeRange range) {
  return {.low = 1, .high = range.high};
}

}  // namespace mangrove::cli
