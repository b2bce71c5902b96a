#include "mangrove/train/aggregation/rules/rows.h"

namespace mangrove::train::rules {

AggregationRow mean() {
  return {.name = "mean",
          .summary = "the mean over all samples, or that of the strategy: one lie can make it anything",
          .parameters = {}};
}

}  // namespace mangrove::train::rules
