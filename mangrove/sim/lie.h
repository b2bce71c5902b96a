#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/base/call_syntax.h"
#include "mangrove/base/random.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::sim {

/// What a lying device of a world does to the updates that it sends in training. It lies from the first one on, and
/// keeps to the protocol: messages have the right size, and its answers to validation and test are honest.
struct LieRow {
  std::string_view name;
  std::string_view summary;  // one line
  std::vector<CallParameter> parameters;
  bool is_in_data = false;  // its labels are wrong, and it sends what it learns from these
  /// Changes the floats of a message. argument: of the first parameter; first: those of the first message of this kind.
  void (*forge)(std::span<float> floats, double argument, std::span<const float> first, Random& random) = nullptr;
};

std::span<const LieRow> lies();

/// Checks a text like "scale(10)". errors: not_found (unknown; names the nearest known one), invalid_argument (a
/// parameter that is no number or out of range).
Result<const LieRow*> find_lie(std::string_view text);

/// A device that lies. threads: one at a time.
class Liar {
 public:
  /// text: one that find_lie() knows.
  Liar(std::string_view text, std::uint64_t seed);

  bool is_in_data() const { return row_.is_in_data; }
  /// Changes the floats in messages that bring updates, or values to neighbours; leaves others as they are.
  void forge(net::Message& message);

 private:
  const LieRow& row_;
  const double argument_;
  Random random_;
  std::map<std::pair<net::Tag, std::size_t>, std::vector<float>> first_;  // by tag and length
};

/// Plays a role of training on samples whose label c, of C, is C - 1 - c; those of validation and test are right.
cluster::RoleMain with_flipped_labels(cluster::RoleMain play);

}  // namespace mangrove::sim
