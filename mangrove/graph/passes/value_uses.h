#pragma once

#include <map>
#include <set>
#include <string>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// Who uses which value of a graph: what passes ask before they change it.
class ValueUses {
 public:
  explicit ValueUses(const GraphParts& parts);

  bool is_output(const std::string& value) const { return outputs_.contains(value); }
  bool is_given(const std::string& value) const { return given_.contains(value); }  // a graph input or initializer
  /// Inputs of nodes that are this value.
  int count(const std::string& value) const;
  /// Whether one input of one node is its only use.
  bool only_one(const std::string& value) const { return count(value) == 1 && !is_output(value); }
  /// `stem`, or a name like it that no value of the graph has; the next call gives another.
  std::string unused_name(std::string stem);

 private:
  std::set<std::string> outputs_;
  std::set<std::string> given_;
  std::map<std::string, int> counts_;
  std::set<std::string> names_;
};

/// Values and what stands in their place.
class Replacements {
 public:
  void add(const std::string& value, const std::string& instead) { instead_[value] = instead; }
  /// What stands for a value, which may be a replacement of a replacement; the value itself where there is none.
  const std::string& resolve(const std::string& value) const;
  /// Makes every node read what stands for its inputs.
  void apply(GraphParts& parts) const;

 private:
  std::map<std::string, std::string> instead_;
};

}  // namespace mangrove
