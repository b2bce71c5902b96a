#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::data {

/// Which data and how, as a person writes it after --data: NAME[:PATH][,KEY=VALUE]..., e.g. "cifar10,validation=5000"
/// or "csv:walk.csv,window=128,stride=64,label=activity". A comma begins an option only where KEY= follows, so that
/// paths may have commas.
struct DatasetSpec {
  std::string name;
  std::string path;  // "" where none is given
  std::vector<std::pair<std::string, std::string>> options;

  /// A text with a / or a . in it and without a known NAME: in front is a path: "folder" of a folder, "csv" of a .csv
  /// file. errors: invalid_argument (an option twice, or without a name).
  static Result<DatasetSpec> parse(std::string_view text);
  std::string text() const;

  std::optional<std::string> option(std::string_view key) const;
  /// The option as a number within [low, high], or `otherwise` where it is not given. errors: invalid_argument.
  Result<std::int64_t> whole_number(std::string_view key, std::int64_t otherwise, std::int64_t low,
                                    std::int64_t high) const;
  Result<double> number(std::string_view key, double otherwise, double low, double high) const;
};

}  // namespace mangrove::data
