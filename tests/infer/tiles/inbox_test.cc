#include "mangrove/infer/tiles/inbox.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

TilePiece piece(std::uint64_t micro_batch, std::uint32_t block, std::int64_t count = 1) {
  TilePiece header;
  header.set_micro_batch(micro_batch);
  header.set_block(block);
  header.set_count(count);
  return header;
}

TEST(TileInbox, HasWorkWhenAllPiecesAreThere) {
  TileInbox inbox;
  inbox.begin(2, 3);
  inbox.add(piece(7, 1), Deadline::never(), 2, {1, 2}, 2);
  EXPECT_FALSE(inbox.has(7));
  EXPECT_FALSE(inbox.has_work());
  inbox.add(piece(7, 1), Deadline::never(), 3, {3}, 2);
  EXPECT_TRUE(inbox.has(7));
  const auto [key, input] = inbox.next();
  EXPECT_EQ(key, (TileInbox::Key{7, 1}));
  EXPECT_EQ(input.pieces.at(2), (std::vector<float>{1, 2}));
  EXPECT_FALSE(inbox.has_work());
  EXPECT_EQ(inbox.size(), 0u);
}

TEST(TileInbox, TakesTheOldestMicroBatchFirst) {
  TileInbox inbox;
  inbox.begin(3, 3);
  for (const std::uint64_t id : {5u, 3u, 4u}) inbox.add(piece(id, 0), Deadline::never(), 1, {0}, 1);
  EXPECT_EQ(inbox.next().first.first, 3u);
  EXPECT_EQ(inbox.next().first.first, 4u);
  EXPECT_EQ(inbox.next().first.first, 5u);
}

TEST(TileInbox, WhatComesTwiceIsToldOnce) {
  TileInbox inbox;
  inbox.begin(2, 2);
  TilePiece with_truths = piece(0, 0);
  with_truths.add_truths(4);
  inbox.add(with_truths, Deadline::never(), 1, {1}, 2);
  inbox.add(with_truths, Deadline::never(), 1, {1}, 2);
  inbox.add(piece(0, 0), Deadline::never(), 2, {1}, 2);
  ASSERT_TRUE(inbox.has_work());
  EXPECT_EQ(inbox.next().second.header.truths_size(), 1);
}

TEST(TileInbox, PiecesOfAnotherNumberOfSamplesBeginAnew) {
  TileInbox inbox;
  inbox.begin(2, 2);
  inbox.add(piece(0, 0, 1), Deadline::never(), 1, {1}, 2);
  inbox.add(piece(0, 0, 2), Deadline::never(), 2, {1, 2}, 2);
  EXPECT_FALSE(inbox.has_work());
  inbox.add(piece(0, 0, 2), Deadline::never(), 1, {1, 2}, 2);
  EXPECT_TRUE(inbox.has_work());
}

TEST(TileInbox, KeepsNoMoreThanItMayWholeOrNot) {
  for (const std::size_t pieces : {1u, 2u}) {
    TileInbox inbox;
    inbox.begin(2, 1);
    for (std::uint64_t id = 0; id < 100; ++id) inbox.add(piece(id, 0), Deadline::never(), 1, {1}, pieces);
    EXPECT_EQ(inbox.size(), 4u);
    for (std::uint64_t id = 96; id < 100; ++id) inbox.add(piece(id, 0), Deadline::never(), 2, {1}, pieces);
    for (std::uint64_t id = 96; id < 100; ++id) EXPECT_TRUE(inbox.has(id)) << "the newest are kept";
  }
}

}  // namespace
}  // namespace mangrove::infer
