#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/result.h"

namespace mangrove::train {

/// How far the workers of a parameter server may be apart.
struct Consistency {
  enum class Kind {
    sync,    // every update waits for all workers
    async,   // every answer is an update of its own; nobody waits
    stale,   // the same, but no worker is more than `bound` updates ahead of the slowest
    k_of_n,  // every update waits for the first `bound` workers; the work of the others is discarded
  };
  Kind kind = Kind::sync;
  std::int64_t bound = 0;
};

/// text: the text that the consistency was parsed from. errors: invalid_argument (it waits for more workers than there
/// are nodes).
Status check_enough_nodes(const Consistency& consistency, const std::string& text, int nodes);

/// Reads "sync" (also ""), "async", "stale(3)" or "k_of_n(8)". errors: invalid_argument (another text, a bound below
/// 1).
Result<Consistency> parse_consistency(const std::string& text);

}  // namespace mangrove::train
