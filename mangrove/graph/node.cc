#include "mangrove/base/check.h"
#include "mangrove/graph/graph.h"

namespace mangrove {
namespace {

template <class T>
T attribute_or(const Node& node, const std::string& key, T fallback) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  MG_CHECK_MSG(value != nullptr, "attribute " + key + " of node " + node.name + " was not checked");
  return *value;
}

}  // namespace

std::int64_t Node::int_or(const std::string& key, std::int64_t fallback) const {
  return attribute_or(*this, key, fallback);
}

float Node::float_or(const std::string& key, float fallback) const {
  return attribute_or(*this, key, fallback);
}

std::string Node::string_or(const std::string& key, const std::string& fallback) const {
  return attribute_or(*this, key, fallback);
}

std::vector<std::int64_t> Node::ints_or(const std::string& key, std::vector<std::int64_t> fallback) const {
  return attribute_or(*this, key, std::move(fallback));
}

std::vector<std::string> Node::strings_or(const std::string& key, std::vector<std::string> fallback) const {
  return attribute_or(*this, key, std::move(fallback));
}

}  // namespace mangrove
