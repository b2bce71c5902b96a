#pragma once

#include <string_view>

namespace mangrove::job {

/// What people read of a strategy. The tables of training and of inference have it in each row.
struct StrategyRow {
  std::string_view name;
  std::string_view summary;  // one line, with the source paper
  std::string_view on_loss;  // what happens when a rank is lost, one line
};

}  // namespace mangrove::job
