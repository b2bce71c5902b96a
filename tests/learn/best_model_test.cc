#include "mangrove/learn/best_model.h"

#include <gtest/gtest.h>

namespace mangrove::learn {
namespace {

TEST(BestModel, IsTheMostAccurateThenTheOneOfLeastLoss) {
  BestModel best;
  const struct {
    double accuracy, loss;
    bool is_best;
  } epochs[] = {{0, 9, true}, {0.5, 1, true}, {0.5, 1, false}, {0.5, 0.9, true}, {0.4, 0.1, false}, {0.6, 2, true}};
  std::int64_t epoch = 0;
  for (const auto& [accuracy, loss, is_best] : epochs)
    EXPECT_EQ(best.observe(++epoch, accuracy, loss), is_best) << epoch;
  EXPECT_EQ(best.epoch, 6);
  EXPECT_EQ(best.accuracy, 0.6);
}

TEST(BestModel, IsStaleAfterPatienceEpochs) {
  BestModel best;
  EXPECT_FALSE(best.is_stale(0, 2));
  best.observe(1, 0.5, 1);
  EXPECT_FALSE(best.is_stale(2, 2));
  EXPECT_TRUE(best.is_stale(3, 2));
  EXPECT_FALSE(best.is_stale(100, 0));
}

}  // namespace
}  // namespace mangrove::learn
