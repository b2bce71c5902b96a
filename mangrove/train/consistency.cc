#include "mangrove/train/consistency.h"

#include <charconv>

namespace mangrove::train {
namespace {

/// The number in "NAME(number)", or 0.
std::int64_t bound_in(const std::string& text, const std::string& name) {
  if (!text.starts_with(name + "(") || !text.ends_with(")")) return 0;
  std::int64_t bound = 0;
  const char* first = text.data() + name.size() + 1;
  const char* last = text.data() + text.size() - 1;
  const auto [end, code] = std::from_chars(first, last, bound);
  return code == std::errc() && end == last ? bound : 0;
}

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
  if (const std::int64_t bound = bound_in(text, "stale"); bound > 0)
    return Consistency{Consistency::Kind::stale, bound};
  if (const std::int64_t bound = bound_in(text, "k_of_n"); bound > 0)
    return Consistency{Consistency::Kind::k_of_n, bound};
  return make_error(Code::invalid_argument,
                    "consistency: must be sync, async, stale(S) or k_of_n(K) with a number from 1 "
                    "on in place of S and K, got '" +
                        text + "'");
}

}  // namespace mangrove::train
