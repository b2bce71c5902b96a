#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/keys.h"
#include "mangrove/compress/constraint.h"
#include "mangrove/compress/fine_tune.h"

namespace mangrove::compress {

/// One step of a recipe: a method with its settings. It works in rounds; between two of them the recipe may stop, and
/// go on from the network alone.
/// threads: one at a time.
class Method {
 public:
  virtual ~Method() = default;
  /// Lists its settings; they are part of the method, and live as long as it does.
  virtual Keys keys() = 0;
  /// What no range of a key says. errors: invalid_argument.
  virtual Status check() const { return {}; }
  virtual std::int64_t rounds() const { return 1; }
  /// The network after round `round` of rounds(), counted from 0.
  /// errors: those of fine_tune(); invalid_argument (the method does not fit the network).
  virtual Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const = 0;
};

/// A method: a file of compress/methods/, a row of the table.
struct MethodRow {
  std::string_view name;     // "prune"
  std::string_view summary;  // one line, with its source
  std::string_view gain;     // what it makes smaller or faster, and what not: a sentence
  std::unique_ptr<Method> (*make)();
};
std::span<const MethodRow> methods();

}  // namespace mangrove::compress
