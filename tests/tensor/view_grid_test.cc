#include "mangrove/tensor/view_grid.h"

#include <gtest/gtest.h>

#include <set>

namespace mangrove {
namespace {

TEST(ViewGrid, IsAsSquareAsTheNumberAllows) {
  EXPECT_EQ(view_grid(1, 28, 28), (std::vector<ImagePart>{{0, 28, 0, 28}}));
  EXPECT_EQ(view_grid(4, 8, 6), (std::vector<ImagePart>{{0, 4, 0, 3}, {0, 4, 3, 6}, {4, 8, 0, 3}, {4, 8, 3, 6}}));
  EXPECT_EQ(view_grid(3, 9, 9), (std::vector<ImagePart>{{0, 9, 0, 3}, {0, 9, 3, 6}, {0, 9, 6, 9}}));
}

TEST(ViewGrid, OverlapsWhereItDoesNotDivideASide) {
  const std::vector<ImagePart> six = view_grid(6, 28, 28);
  ASSERT_EQ(six.size(), 6u);
  EXPECT_EQ(six[0], (ImagePart{0, 14, 0, 10}));
  EXPECT_EQ(six[1], (ImagePart{0, 14, 9, 19}));
  EXPECT_EQ(six[5], (ImagePart{14, 28, 18, 28}));
}

TEST(ViewGrid, CoversTheImageWithPartsOfOneSize) {
  for (std::int64_t views = 1; views <= 16; ++views) {
    for (const std::int64_t side : {16, 17, 31}) {
      std::set<std::pair<std::int64_t, std::int64_t>> seen;
      const std::vector<ImagePart> parts = view_grid(views, side, side + 5);
      EXPECT_EQ(static_cast<std::int64_t>(parts.size()), views);
      for (const ImagePart& part : parts) {
        EXPECT_EQ(part.bottom - part.top, parts[0].bottom - parts[0].top);
        EXPECT_EQ(part.right - part.left, parts[0].right - parts[0].left);
        for (std::int64_t y = part.top; y < part.bottom; ++y)
          for (std::int64_t x = part.left; x < part.right; ++x) seen.insert({y, x});
      }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), side * (side + 5)) << views << " views of " << side;
      EXPECT_EQ(seen.rbegin()->first, side - 1);
    }
  }
}

}  // namespace
}  // namespace mangrove
