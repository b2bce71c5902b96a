#include "mangrove/tensor/shape.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(Shape, BatchMayBeAnyDimension) {
  EXPECT_EQ((Shape{kBatch, 3}).batch_axis(), 0u);
  EXPECT_EQ((Shape{4, kBatch, 3}).batch_axis(), 1u);
  EXPECT_EQ((Shape{4, 3}).batch_axis(), std::nullopt);
  EXPECT_EQ(Shape{}.batch_axis(), std::nullopt);
  EXPECT_EQ((Shape{4, kBatch, 3}).with_batch(7), (Shape{4, 7, 3}));
  EXPECT_EQ((Shape{4, 3}).with_batch(7), (Shape{4, 3}));
  EXPECT_EQ(to_string(Shape{4, kBatch, 3}), "[4, N, 3]");
}

TEST(Shape, MayHoldTheBatchSeveralTimes) {
  const Shape heads{-3, 4};
  EXPECT_TRUE(heads.is_symbolic());
  EXPECT_EQ(heads.symbolic_axis(), 0u);
  EXPECT_EQ(heads.batch_axis(), std::nullopt) << "no place of its own for each sample";
  EXPECT_EQ(heads.batches(), 3);
  EXPECT_EQ((Shape{2, kBatch}).batches(), 1);
  EXPECT_EQ((Shape{2, 4}).batches(), 1);
  EXPECT_EQ(heads.with_batch(7), (Shape{21, 4}));
  EXPECT_EQ(to_string(heads), "[3N, 4]");
}

TEST(Shape, AllowsBatchFirstUnlessAnotherDimensionIsTheBatch) {
  EXPECT_TRUE((Shape{-2, 3}).allows_batch_first());
  EXPECT_TRUE((Shape{kBatch, 3}).allows_batch_first());
  EXPECT_TRUE((Shape{2, 3}).allows_batch_first());
  EXPECT_FALSE((Shape{2, kBatch}).allows_batch_first());
}

TEST(Shape, CountsElementsBesideTheBatch) {
  const Shape shape{4, kBatch, 3, 5};
  EXPECT_EQ(shape.elements(0, 1), 4);
  EXPECT_EQ(shape.elements(2, 4), 15);
  EXPECT_DEATH(shape.elements(), "symbolic dimension");
}

}  // namespace
}  // namespace mangrove
