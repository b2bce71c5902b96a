#include "mangrove/testbed/relay.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <string>

#include "tests/testbed/here.h"

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"

namespace mangrove::testbed {
namespace {

TEST(LineModel, DelaysByWhatIsAsked) {
  LineModel line({.delay = 0.05}, 1);
  EXPECT_DOUBLE_EQ(line.arrival(10), 10.05);
  EXPECT_DOUBLE_EQ(line.arrival(11), 11.05);
}

TEST(LineModel, JitterStaysWithinItsBoundsAndKeepsTheOrder) {
  LineModel line({.delay = 0.05, .jitter = 0.01}, 1);
  double sum = 0, least = 1, most = 0, before = 0;
  constexpr int kFrames = 10'000;
  for (int i = 0; i < kFrames; ++i) {
    const Seconds sent = i * 0.1;  // far apart: none has to wait for the one before
    const Seconds arrived = line.arrival(sent), delay = arrived - sent;
    EXPECT_GE(arrived, before);
    before = arrived;
    sum += delay;
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, 0.04 - 1e-9);
  EXPECT_LE(most, 0.06 + 1e-9);
  EXPECT_LT(least, 0.0405);
  EXPECT_GT(most, 0.0595);
  EXPECT_NEAR(sum / kFrames, 0.05, 3e-4);

  before = 0;
  for (int i = 0; i < kFrames; ++i) {  // all at once
    const Seconds arrived = line.arrival(10'000);
    EXPECT_GE(arrived, before);
    before = arrived;
  }
}

TEST(LineModel, JitterAboveTheDelayDoesNotTurnTimeBack) {
  LineModel line({.delay = 0.001, .jitter = 0.1}, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_GE(line.arrival(i), i);
}

TEST(LineModel, LosesTheShareThatIsAsked) {
  LineModel line({.loss = 0.1}, 7);
  int lost = 0;
  constexpr int kFrames = 100'000;
  for (int i = 0; i < kFrames; ++i) lost += line.arrival(i) < 0;
  EXPECT_NEAR(lost, kFrames * 0.1, 4 * std::sqrt(kFrames * 0.1 * 0.9));
}

TEST(LineModel, TheSameSeedLosesTheSameFrames) {
  LineModel a({.jitter = 0.01, .loss = 0.5}, 3), b({.jitter = 0.01, .loss = 0.5}, 3);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(a.arrival(i), b.arrival(i));
}

/// A relay between two sockets that keep boundaries, and our ends of them.
struct RelayTest : ::testing::Test {
  void start(const LineFaults& faults) {
    int left[2], right[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, left), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, right), 0);
    a = Descriptor(left[0]);
    b = Descriptor(right[0]);
    relay = std::move(Relay::create(Descriptor(left[1]), Descriptor(right[1]), faults, 1)).value();
  }
  static void send(const Descriptor& to, const std::string& frame) {
    ASSERT_EQ(write(to.get(), frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  }
  /// The next frame; "" where none comes within the time.
  static std::string next(const Descriptor& from, int timeout_ms = 20'000) {
    pollfd entry{from.get(), POLLIN, 0};
    char buffer[4096];
    if (poll(&entry, 1, timeout_ms) <= 0) return {};
    const ssize_t got = read(from.get(), buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
  }

  Descriptor a, b;
  std::unique_ptr<Relay> relay;
};

TEST_F(RelayTest, MovesFramesBothWaysInOrder) {
  start({.delay = 0.002, .jitter = 0.002});
  for (int i = 0; i < 50; ++i) {
    send(a, "to b " + std::to_string(i));
    send(b, "to a " + std::to_string(i));
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(next(b), "to b " + std::to_string(i));
    EXPECT_EQ(next(a), "to a " + std::to_string(i));
  }
}

TEST_F(RelayTest, NoFrameIsEarly) {
  start({.delay = 0.05});
  const SteadyClock clock;
  for (int i = 0; i < 5; ++i) {
    const Instant sent = clock.now();
    send(a, "frame");
    EXPECT_EQ(next(b), "frame");
    EXPECT_GE(clock.now() - sent, 0.05);
  }
}

TEST_F(RelayTest, LosesFrames) {
  start({.loss = 1});
  send(a, "gone");
  start({.loss = 0});
  send(a, "there");
  EXPECT_EQ(next(b), "there");
}

TEST_F(RelayTest, EndsAtOnceWithFramesOnTheirWay) {
  start({.delay = 50});
  send(a, "late");
  const SteadyClock clock;
  const Instant before = clock.now();
  relay.reset();
  EXPECT_LT(clock.now() - before, 10);
  EXPECT_EQ(next(b, 0), "");
}

TEST_F(RelayTest, OutlivesAnEndThatHangsUp) {
  start({});
  a = Descriptor();
  EXPECT_EQ(next(b, 50), "");
  relay.reset();
}

TEST(Tap, HasItsNameAndGoesWithItsDescriptor) {
  if (const std::string reason = why_no_relays(); !reason.empty()) GTEST_SKIP() << reason;
  const std::string name = "mgtest" + std::to_string(getpid() % 100000);
  {
    const auto tap = open_tap(name);
    ASSERT_TRUE(tap.ok()) << tap.error().message;
    EXPECT_TRUE(fs::exists("/sys/class/net/" + name));
    const auto again = open_tap(name);
    ASSERT_FALSE(again.ok()) << "it is taken";
    EXPECT_NE(again.error().message.find(name), std::string::npos);
  }
  EXPECT_FALSE(fs::exists("/sys/class/net/" + name));
  EXPECT_EQ(open_tap("a-name-that-is-too-long").code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::testbed
