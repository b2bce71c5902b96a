#pragma once

#include <span>
#include <string_view>

namespace mangrove::fuzz {

/// A function that reads bytes which may come from anybody: a file of an owner, a model of a client, a message of a
/// node. It must return whatever the bytes are, and may report an error.
struct Target {
  std::string_view
      name;  // "onnx", as scripts/fuzz.sh takes it; seeds are in fuzz/seeds/NAME, found cases in fuzz/found/NAME
  void (*run)(std::string_view bytes);
};

/// The table, sorted by name.
std::span<const Target> targets();
/// The target with this name. Null: there is none in the table.
const Target* find_target(std::string_view name);

}  // namespace mangrove::fuzz
