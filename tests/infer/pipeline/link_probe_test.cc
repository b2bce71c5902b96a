#include "mangrove/infer/pipeline/link_probe.h"

#include <gtest/gtest.h>

#include "tests/base/hand_clock.h"

#include "mangrove/infer/tags.h"
#include "mangrove/job/machine.h"
#include "mangrove/net/in_process.h"

namespace mangrove::infer {
namespace {

/// Lets two probes talk over a link of this rate and round trip, until the first has its result.
Link measured(BytesPerSecond rate, Seconds round_trip) {
  net::InProcessWorld world(2);
  testing::HandClock clock;
  job::Machine device;
  LinkProbe asks(world.endpoint(0), clock, device), answers(world.endpoint(1), clock, device);
  asks.start(7, 1);
  for (int i = 0; i < 100; ++i) {
    const Result<net::Message> question = world.endpoint(1).recv({0}, kProbeTag, clock.now());
    if (!question.ok()) break;
    clock.pass(round_trip + static_cast<double>(question->payload.size()) / rate);
    EXPECT_FALSE(answers.take(*question).has_value());
    const Result<net::Message> answer = world.endpoint(0).recv({1}, kProbeTag, clock.now());
    if (!answer.ok()) break;
    if (const std::optional<Link> link = asks.take(*answer)) return *link;
  }
  ADD_FAILURE() << "no result";
  return {};
}

TEST(LinkProbe, TellsRateAndRoundTrip) {
  for (const BytesPerSecond rate : {1e5, 12.5e6, 1e9}) {
    const Link link = measured(rate, 0.003);
    EXPECT_EQ(link.request(), 7u);
    EXPECT_NEAR(link.rate(), rate, 0.01 * rate);
    EXPECT_NEAR(link.round_trip(), 0.003, 0.001);
    EXPECT_GE(link.byte_seconds(), 0);
  }
}

TEST(LinkProbe, OfALinkWithoutEndHasNoRate) {
  EXPECT_EQ(measured(1e15, 1e-6).rate(), 0);
}

TEST(LinkProbe, IgnoresAnswersThatItDidNotAskFor) {
  net::InProcessWorld world(2);
  testing::HandClock clock;
  job::Machine device;
  LinkProbe probe(world.endpoint(0), clock, device);
  EXPECT_FALSE(probe.take({1, kProbeTag, "nonsense"}).has_value());
  probe.start(7, 1);
  const std::string question = world.endpoint(1).recv({0}, kProbeTag, clock.now())->payload;
  LinkProbe(world.endpoint(1), clock, device).take({0, kProbeTag, question});
  const net::Message answer = *world.endpoint(0).recv({1}, kProbeTag, clock.now());
  EXPECT_FALSE(probe.take(answer).has_value());  // the first of several
  EXPECT_TRUE(world.endpoint(1).recv({0}, kProbeTag, clock.now()).ok());
  EXPECT_FALSE(probe.take(answer).has_value());  // once more: no new question
  EXPECT_FALSE(world.endpoint(1).recv({0}, kProbeTag, clock.now()).ok());
}

}  // namespace
}  // namespace mangrove::infer
