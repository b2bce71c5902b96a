#include "mangrove/compress/comparison.h"

#include <gtest/gtest.h>

#include "tests/compress/networks.h"

namespace mangrove::compress {
namespace {

Graph product_of(std::int64_t units) {
  return NetworkWriter({kBatch, 512})
      .weights("w", {512, units})
      .weights("v", {units, 4})
      .node("MatMul", "h", {"x", "w"})
      .node("MatMul", "y", {"h", "v"})
      .finish({"y"});
}

TEST(Comparison, ANetworkOfATenthOfTheWorkIsFasterAndTakesLessMemory) {
  const auto costs = compare_answers(product_of(2000), product_of(200), "", 1);
  ASSERT_TRUE(costs.ok()) << costs.error().message;
  EXPECT_LT(costs->second.seconds, costs->first.seconds);
  EXPECT_GT(costs->second.seconds, 0);
  EXPECT_GE(costs->first.memory, 2000 * 516 * 4);
  EXPECT_LT(costs->second.memory, costs->first.memory / 5);
}

TEST(Comparison, AnUnknownBackendIsAnError) {
  EXPECT_EQ(compare_answers(product_of(2), product_of(2), "none", 1).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::compress
