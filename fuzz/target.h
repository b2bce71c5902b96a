#pragma once

#include <span>
#include <string_view>

namespace mangrove::fuzz {

/// A reader of bytes that may come from anybody: a file of an owner, a model of a client, a message of a node. Whatever
/// the bytes are, it returns; an error is a good answer.
struct Target {
  std::string_view
      name;  // "onnx", as scripts/fuzz.sh takes it; seeds are in fuzz/seeds/NAME, found cases in fuzz/found/NAME
  void (*run)(std::string_view bytes);
};

/// The table, sorted by name.
std::span<const Target> targets();
/// Null for a name that is not in the table.
const Target* find_target(std::string_view name);

}  // namespace mangrove::fuzz
