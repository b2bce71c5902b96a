#include "mangrove/infer/pipeline/in_flight.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

std::vector<std::uint64_t> all_again(InFlight& in_flight) {
  std::vector<std::uint64_t> all;
  while (const auto id = in_flight.next_again()) all.push_back(*id);
  return all;
}

using Ids = std::vector<std::uint64_t>;

TEST(InFlight, EachHasATimeLimitOfItsOwn) {
  InFlight in_flight;
  in_flight.sent(0, {0});
  in_flight.sent(1, {6});
  EXPECT_EQ(in_flight.resend_overdue({10}, 10), Ids());
  EXPECT_EQ(in_flight.resend_overdue({11}, 10), Ids({0}));
  EXPECT_EQ(in_flight.size(), 1u);
  EXPECT_EQ(in_flight.resend_overdue({12}, 10), Ids()) << "once";
  EXPECT_EQ(all_again(in_flight), Ids({0}));
}

TEST(InFlight, OneThatSomebodyElseIsAskedForHasMoreTime) {
  InFlight in_flight;
  in_flight.sent(0, {0});
  in_flight.renew(0, {8});
  EXPECT_EQ(in_flight.resend_overdue({18}, 10), Ids());
  EXPECT_EQ(in_flight.resend_overdue({19}, 10), Ids({0}));
}

TEST(InFlight, AnAnswerCountsWhereverItIs) {
  InFlight in_flight;
  for (const std::uint64_t id : {0, 1, 2}) in_flight.sent(id, {0});
  in_flight.resend_overdue({11}, 10);
  in_flight.remove(1);
  EXPECT_EQ(in_flight.next_again(), 0u);
  in_flight.sent(0, {11});
  in_flight.remove(0);
  EXPECT_EQ(in_flight.size(), 0u);
  EXPECT_EQ(all_again(in_flight), Ids({2}));
}

TEST(InFlight, AllBeginAnewWithTheOldest) {
  InFlight in_flight;
  for (const std::uint64_t id : {0, 1, 2, 3}) in_flight.sent(id, {static_cast<double>(id)});
  in_flight.resend_overdue({12}, 10);  // 0 and 1
  EXPECT_EQ(in_flight.next_again(), 0u);
  in_flight.sent(0, {12});
  in_flight.resend_all();
  EXPECT_EQ(in_flight.size(), 0u);
  EXPECT_EQ(all_again(in_flight), Ids({0, 1, 2, 3}));
}

}  // namespace
}  // namespace mangrove::infer
