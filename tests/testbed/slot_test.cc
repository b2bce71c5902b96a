#include "mangrove/testbed/slot.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mangrove/testbed/network_plan.h"

namespace mangrove::testbed {
namespace {

constexpr int kNumber = kSlots - 1;  // the last that anyone would take

TEST(Slot, HasOneOwner) {
  auto slot = Slot::take(kNumber);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->number(), kNumber);
  EXPECT_FALSE(Slot::take(kNumber));
  slot.reset();
  EXPECT_TRUE(Slot::take(kNumber));
}

TEST(Slot, OfAKilledProcessIsFree) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const auto slot = Slot::take(kNumber);
    (void)!write(ready[1], slot ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  EXPECT_FALSE(Slot::take(kNumber));
  kill(owner, SIGKILL);
  ASSERT_EQ(waitpid(owner, nullptr, 0), owner);
  EXPECT_TRUE(Slot::take(kNumber));
  close(ready[0]);
  close(ready[1]);
}

TEST(Record, IsReadBack) {
  Record record;
  record.slot = 3;
  record.owner = 4711;
  record.file = "/home/someone/boards.yaml";
  record.coordinator = "198.18.3.1:7070";
  Record::Node node;
  node.board = {.name = "pi-1",
                .cpu = 0.18,
                .memory = 1'000'000'000,
                .rate = 12.5e6,
                .delay = 0.05,
                .jitter = 0.01,
                .loss = 0.02};
  node.pid = 4712;
  node.netns = "mangrove-3-pi-1";
  node.port = "mgtb3-1";
  node.cpu = "/c/cpu";
  node.memory = "/c/memory";
  record.nodes = {node, Record::Node{}};
  const auto read = Record::parse(record.to_json());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->to_json(), record.to_json());
  EXPECT_EQ(read->slot, 3);
  EXPECT_EQ(read->owner, 4711);
  EXPECT_EQ(read->file, record.file);
  ASSERT_EQ(read->nodes.size(), 2u);
  EXPECT_EQ(read->nodes[0].board.name, "pi-1");
  EXPECT_EQ(read->nodes[0].board.loss, 0.02);
  EXPECT_EQ(read->nodes[0].netns, "mangrove-3-pi-1");
  EXPECT_EQ(read->nodes[0].memory, "/c/memory");
}

TEST(Record, ThatIsNoneIsRefused) {
  for (const char* text : {"", "{}", "[1]", "{\"slot\": \"x\"}"})
    EXPECT_EQ(Record::parse(text).code(), Code::data_loss) << text;
}

}  // namespace
}  // namespace mangrove::testbed
