#include "mangrove/net/in_process.h"

#include <gtest/gtest.h>

#include "tests/net/world.h"

namespace mangrove::net {
namespace {

TEST(InProcessWorld, LosesTheMessagesItIsToldToLose) {
  InProcessWorld world(3);
  world.set_loss([](Rank from, Rank to, Tag tag) { return from == 0 && to == 1 && tag == 5; });
  world.endpoint(0).send(1, 5, "lost");
  world.endpoint(0).send(1, 6, "other tag");
  world.endpoint(0).send(2, 5, "other rank");
  world.endpoint(2).send(1, 5, "other sender");
  EXPECT_EQ(receive(world.endpoint(1), {0, 2}, 5), "other sender");
  EXPECT_EQ(receive(world.endpoint(1), {0, 2}, 6), "other tag");
  EXPECT_EQ(receive(world.endpoint(2), {0}, 5), "other rank");
  EXPECT_EQ(outcome(world.endpoint(1), {0}, 5, 0), "deadline_exceeded");

  world.set_loss(nullptr);
  world.endpoint(0).send(1, 5, "found");
  EXPECT_EQ(receive(world.endpoint(1), {0}, 5), "found");
}

TEST(InProcessWorld, KilledRankNeitherSendsNorReceives) {
  InProcessWorld world(2);
  world.endpoint(1).send(1, 1, "to itself");
  world.kill(1);
  EXPECT_EQ(outcome(world.endpoint(1), {1}, 1, 0), "cancelled");
  world.endpoint(1).send(0, 1, "from the dead");
  EXPECT_EQ(outcome(world.endpoint(0), {1}, 1, 0), "unavailable");
}

}  // namespace
}  // namespace mangrove::net
