#include "mangrove/cluster/outbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/base/eventually.h"

namespace mangrove::cluster {
namespace {

/// A stream whose peer reads when it is let.
class Stream {
 public:
  bool write(const std::string& message) {
    MutexLock lock(mutex_);
    ++writes_;
    while (frozen_ && !cut_) changed_.wait_for(mutex_, 1);
    if (cut_) return false;
    got_.push_back(message);
    return true;
  }
  void freeze(bool frozen) {
    MutexLock lock(mutex_);
    frozen_ = frozen;
    changed_.notify_all();
  }
  void cut() {
    MutexLock lock(mutex_);
    cut_ = true;
    changed_.notify_all();
  }
  std::vector<std::string> got() {
    MutexLock lock(mutex_);
    return got_;
  }
  int writes() {
    MutexLock lock(mutex_);
    return writes_;
  }
  bool was_cut() {
    MutexLock lock(mutex_);
    return cut_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool frozen_ = false;
  bool cut_ = false;
  int writes_ = 0;
  std::vector<std::string> got_;
};

struct Fixture : ::testing::Test {
  Stream stream;
  Outbox<std::string> outbox{[this](const std::string& message) { return stream.write(message); },
                             [this] { stream.cut(); }};
};
using OutboxTest = Fixture;

TEST_F(OutboxTest, WritesInOrderAndAllBeforeItCloses) {
  std::vector<std::string> sent;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(std::to_string(i));
    outbox.send(sent.back());
  }
  EXPECT_TRUE(outbox.close(20));
  EXPECT_EQ(stream.got(), sent);
  EXPECT_FALSE(stream.was_cut());
  outbox.send("late");
  EXPECT_EQ(stream.got(), sent);
}

TEST_F(OutboxTest, AFrozenPeerIsCutAtTheEndOfTheGrace) {
  stream.freeze(true);
  outbox.send("a");
  outbox.send("b");
  ASSERT_TRUE(eventually([&] { return stream.writes() == 1; }));
  EXPECT_FALSE(outbox.close(0.05));
  EXPECT_TRUE(stream.was_cut());
  EXPECT_TRUE(stream.got().empty());
}

TEST_F(OutboxTest, DropsWhatIsSupersededWhenThePeerIsBehind) {
  stream.freeze(true);
  for (int i = 0; i < 1000; ++i) outbox.send_if_keeping_up("progress");
  outbox.send("result");
  stream.freeze(false);
  EXPECT_TRUE(outbox.close(20));
  EXPECT_LT(stream.got().size(), 20u);
  EXPECT_EQ(stream.got().back(), "result");
}

TEST_F(OutboxTest, ABrokenStreamTakesNoMore) {
  stream.cut();
  outbox.send("a");
  ASSERT_TRUE(eventually([&] { return stream.writes() == 1; }));
  outbox.send("b");
  EXPECT_FALSE(outbox.close(20));
  EXPECT_EQ(stream.writes(), 1);
}

TEST(Outbox, CutsAPeerThatReadsNothingWhenTooMuchWaits) {
  Stream stream;
  int full = 0;
  Outbox<std::string> outbox([&](const std::string& message) { return stream.write(message); }, [&] { stream.cut(); },
                             /*room=*/4'000, /*on_full=*/[&] { ++full; });
  stream.freeze(true);
  outbox.send(std::string(10'000, 'x'));  // one message may be longer
  ASSERT_TRUE(eventually([&] { return stream.writes() == 1; }));
  for (int i = 0; i < 3; ++i) outbox.send(std::string(1'000, 'x'));
  EXPECT_FALSE(stream.was_cut());
  outbox.send(std::string(1'000, 'x'));
  EXPECT_TRUE(stream.was_cut());
  EXPECT_FALSE(outbox.close(20));
  EXPECT_EQ(stream.writes(), 1);
  EXPECT_EQ(full, 1);
}

TEST_F(OutboxTest, ClosingTwiceIsHarmless) {
  EXPECT_TRUE(outbox.close(1));
  EXPECT_TRUE(outbox.close(1));
}

}  // namespace
}  // namespace mangrove::cluster
