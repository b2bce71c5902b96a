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

/// A lie: what a lying device of a world does to the updates that it sends in training, or to its answers in inference,
/// from the first one on. The device keeps to the protocol: its messages have the right size, and what it measures, for
/// validation and test and of its speed, is right.
struct LieRow {
  std::string_view name;
  std::string_view summary;  // one line
  std::vector<CallParameter> parameters;
  bool is_in_data = false;     // the device has wrong labels, and sends what it learns from them
  bool is_in_answers = false;  // the device lies in inference, in a share of its messages: the first parameter
  /// Changes the floats of a message. argument: the value of the first parameter. first: the floats of the first
  /// message of this kind. Null if the lie is in the data or in answers.
  void (*forge)(std::span<float> floats, double argument, std::span<const float> first, Random& random) = nullptr;
};

std::span<const LieRow> lies();

/// Finds the lie of a text like "scale(10)" and checks its parameters. errors: not_found (unknown; names the nearest
/// known one), invalid_argument (a parameter is no number or is out of range, or there is one too many).
Result<const LieRow*> find_lie(std::string_view text);

/// A device that lies. threads: one at a time.
class Liar {
 public:
  /// text: one that find_lie() knows.
  Liar(std::string_view text, std::uint64_t seed);

  bool is_in_data() const { return row_.is_in_data; }
  /// Changes the floats in messages that bring updates to rank 0 or values to neighbours; of a device that lies in
  /// inference, the classes that it sends to rank 0 and the values that it sends to the next stage. Leaves other
  /// messages as they are.
  void forge(net::Message& message);

 private:
  void forge_answers(net::Message& message);
  const LieRow& row_;
  const double argument_;
  Random random_;
  std::map<std::pair<net::Tag, std::size_t>, std::vector<float>> first_;  // by tag and length
};

/// Plays a role of training on samples whose label c, of C, is C - 1 - c; those of validation and test are right.
cluster::RoleMain with_flipped_labels(cluster::RoleMain play);

}  // namespace mangrove::sim
