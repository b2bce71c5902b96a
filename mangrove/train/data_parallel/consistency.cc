#include "mangrove/train/data_parallel/consistency.h"

#include "mangrove/base/call_syntax.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;  // steps, or workers

}  // namespace

Status check_enough_nodes(const Consistency& consistency, const std::string& text, int nodes) {
  if (consistency.kind != Consistency::Kind::k_of_n || consistency.bound <= nodes) return {};
  return make_error(Code::invalid_argument, "consistency: " + text + " needs at least " +
                                                std::to_string(consistency.bound) + " nodes, got " +
                                                std::to_string(nodes));
}

Result<Consistency> parse_consistency(const std::string& text) {
  if (text.empty() || text == "sync") return Consistency{};
  if (text == "async") return Consistency{Consistency::Kind::async, 0};
  if (const auto bound = number_argument_of(text, "stale"); bound && *bound > 0 && *bound <= kMost)
    return Consistency{Consistency::Kind::stale, *bound};
  if (const auto bound = number_argument_of(text, "k_of_n"); bound && *bound > 0 && *bound <= kMost)
    return Consistency{Consistency::Kind::k_of_n, *bound};
  return make_error(Code::invalid_argument,
                    "consistency: must be sync, async, stale(S) or k_of_n(K) with a number from 1 "
                    "to 1,000,000,000 in place of S and K, got '" +
                        text + "'");
}

}  // namespace mangrove::train
