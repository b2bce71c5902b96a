#include "mangrove/infer/tiles/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/infer/tiles/tile_job.h"

namespace mangrove::infer {
namespace {

constexpr int kLayoutRanks = 5;

void add_tile(TileBlockPlace& block, net::Rank rank, const Region& region) {
  TilePlace& tile = *block.add_tiles();
  tile.set_rank(rank);
  tile.set_top(region.top);
  tile.set_left(region.left);
  tile.set_bottom(region.bottom);
  tile.set_right(region.right);
}

/// tiled_network(): conv1 to relu2 in three tiles, conv3 to mean in two, the rest on rank 4, which has the samples.
Command placement() {
  Command command;
  command.set_kind(Command::PLACE);
  command.set_source(4);
  TileBlockPlace& first = *command.add_blocks();
  first.set_first(0);
  first.set_last(5);
  add_tile(first, 1, {0, 0, 10, 28});
  add_tile(first, 2, {10, 0, 28, 14});
  add_tile(first, 3, {10, 14, 28, 28});
  TileBlockPlace& second = *command.add_blocks();
  second.set_first(5);
  second.set_last(10);
  add_tile(second, 2, {0, 0, 6, 2});
  add_tile(second, 1, {0, 2, 6, 6});
  TileBlockPlace& rest = *command.add_blocks();
  rest.set_first(10);
  rest.set_last(12);
  add_tile(rest, 4, {});
  return command;
}

std::string error_of(const Command& command) {
  const auto layout = TileLayout::create(tiled_network(), command, kLayoutRanks);
  return layout.ok() ? "" : layout.error().message;
}

TEST(TileLayout, SaysWhichRegionsTravel) {
  const auto layout = TileLayout::create(tiled_network(), placement(), kLayoutRanks);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  ASSERT_EQ(layout->blocks().size(), 3u);
  EXPECT_EQ(layout->source(), 4);
  const TileLayout::Part& top = layout->blocks()[0].parts[0];
  EXPECT_EQ(top.input, (Region{0, 0, 12, 28})) << "two convolutions of 3x3: a halo of two rows below";
  EXPECT_EQ(layout->piece(0, nullptr, top), top.input);
  // The first block's tiles give the second block's tiles what these need.
  const TileLayout::Part& left = layout->blocks()[1].parts[0];
  EXPECT_EQ(layout->piece(1, &top, left).top, 0);
  EXPECT_EQ(layout->piece(1, &top, left).bottom, 10);
  EXPECT_EQ(layout->senders(1, left), (std::vector<net::Rank>{1, 2}));
  const TileLayout::Part& right = layout->blocks()[1].parts[1];
  EXPECT_EQ(layout->senders(1, right), (std::vector<net::Rank>{1, 2, 3}));
  // Both are summands of the mean.
  EXPECT_EQ(layout->blocks()[1].join, TileJoin::add);
  EXPECT_EQ(layout->cut(2).channels, 12);
  const TileLayout::Part& last = layout->blocks()[2].parts[0];
  EXPECT_EQ(layout->senders(2, last), (std::vector<net::Rank>{2, 1}));
  EXPECT_EQ(layout->piece(2, &left, last), (Region{0, 0, 1, 1}));
  EXPECT_EQ(layout->cut(3).elements(layout->cut(3).plane, 2), 20);
}

TEST(TileLayout, EveryElementThatATileNeedsComesOnce) {
  const auto layout = TileLayout::create(tiled_network(), placement(), kLayoutRanks);
  ASSERT_TRUE(layout.ok());
  for (const TileLayout::Part& to : layout->blocks()[1].parts) {
    std::int64_t area = 0;
    for (const TileLayout::Part& from : layout->blocks()[0].parts) area += layout->piece(1, &from, to).area();
    EXPECT_EQ(area, to.input.area());
  }
}

TEST(TileLayout, TilesOfTheLastOperatorsGoToTheSource) {
  GraphParts parts = tiled_network().parts();
  parts.nodes.resize(9);  // up to conv4
  parts.outputs = {"i"};
  const auto graph = Graph::create(std::move(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  Command command = placement();
  command.mutable_blocks()->RemoveLast();
  command.mutable_blocks(1)->set_last(9);
  const auto layout = TileLayout::create(*graph, command, kLayoutRanks);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  ASSERT_EQ(layout->blocks().size(), 3u);
  EXPECT_TRUE(layout->blocks()[2].is_answer());
  const TileLayout::Part& answer = layout->blocks()[2].parts[0];
  EXPECT_EQ(answer.rank, layout->source());
  EXPECT_EQ(layout->senders(2, answer), (std::vector<net::Rank>{2, 1}));
  EXPECT_EQ(layout->piece(2, &layout->blocks()[1].parts[0], answer), (Region{0, 0, 6, 2}));
}

TEST(TileLayout, OfARankWithoutATeamIsEmpty) {
  const auto layout = TileLayout::create(tiled_network(), Command(), kLayoutRanks);
  ASSERT_TRUE(layout.ok());
  EXPECT_TRUE(layout->blocks().empty());
}

TEST(TileLayout, RefusesWhatIsNoPlacement) {
  EXPECT_EQ(error_of(placement()), "");
  const auto changed = [](auto change) {
    Command command = placement();
    change(command);
    return error_of(command);
  };
  EXPECT_NE(changed([](Command& c) { c.set_source(5); }).find("no rank 5"), std::string::npos);
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks()->RemoveLast(); }), "");
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(1)->set_first(6); }), "") << "an operator is missing";
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(0)->set_last(3); }), "") << "two values cross the cut";
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(2)->set_last(13); }), "");
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(2)->set_last(0xffffffff); }), "");
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(0)->mutable_tiles(0)->set_rank(2); }), "") << "rank 2 twice";
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(0)->mutable_tiles(0)->set_bottom(9); }), "") << "a gap";
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(0)->mutable_tiles(0)->set_bottom(11); }), "") << "an overlap";
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(0)->mutable_tiles(0)->set_top(-1); }), "");
  EXPECT_NE(changed([](Command& c) { c.mutable_blocks(0)->mutable_tiles(0)->set_right(1'000'000'000'000); }), "");
  EXPECT_NE(changed([](Command& c) {
              add_tile(*c.mutable_blocks(2), 1, {0, 0, 1, 1});
            }),
            "")
      << "a fully connected layer in tiles";
}

TEST(CopyRegion, CopiesItAndNothingElse) {
  const Region from{2, 1, 6, 6}, to{0, 0, 5, 4}, what{3, 2, 5, 4};
  constexpr std::int64_t kPlanes = 2;
  std::vector<float> source(static_cast<std::size_t>(kPlanes * from.area()));
  std::iota(source.begin(), source.end(), 1.0f);
  std::vector<float> target(static_cast<std::size_t>(kPlanes * to.area()), 0.0f);
  copy_region(source.data(), from, target.data(), to, what, kPlanes);
  const auto at = [](const std::vector<float>& values, const Region& region, std::int64_t plane, std::int64_t row,
                     std::int64_t column) {
    return values[static_cast<std::size_t>(plane * region.area() + (row - region.top) * region.columns() + column -
                                           region.left)];
  };
  for (std::int64_t plane = 0; plane < kPlanes; ++plane)
    for (std::int64_t row = to.top; row < to.bottom; ++row)
      for (std::int64_t column = to.left; column < to.right; ++column) {
        const bool is_copied = what.contains({row, column, row + 1, column + 1});
        EXPECT_EQ(at(target, to, plane, row, column), is_copied ? at(source, from, plane, row, column) : 0.0f);
      }
}

}  // namespace
}  // namespace mangrove::infer
