#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::zoo {

/// A model's name taken apart: "wrn-28-10" of the stem "wrn" has the words "28" and "10".
class Variant {
 public:
  Variant(std::string_view name, std::string_view stem, std::string_view pattern);

  const std::string& name() const { return name_; }
  std::size_t size() const { return words_.size(); }
  bool has(std::size_t word, std::string_view text) const { return word < size() && words_[word] == text; }

  /// The word as a number within [low, high]; nothing where there is no such word or it is no such number.
  std::optional<std::int64_t> whole(std::size_t word, std::int64_t low, std::int64_t high) const;
  std::optional<double> real(std::size_t word, double low, double high) const;

  /// not_found: what names of this family look like.
  Error mismatch() const;

 private:
  std::string name_;
  std::string pattern_;
  std::vector<std::string> words_;
};

}  // namespace mangrove::zoo
