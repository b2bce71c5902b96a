#include "mangrove/sensors/delivery.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mangrove::sensors {
namespace {

/// Takes everything, and says nothing about it.
class SilentLink final : public Link {
 public:
  bool is_connected() const override { return true; }
  std::uint64_t reconnects() const override { return 0; }
  Status send(std::uint64_t token, const std::string& /*topic*/, std::string_view payload) override {
    sent.emplace_back(token, payload);
    return {};
  }
  std::vector<std::pair<std::uint64_t, std::string>> sent;
};

struct Deliveries : ::testing::Test {
  Deliveries() { delivery.add_sink("hub", &link); }
  void put(const std::string& payload) {
    delivery.put({{.sink = "hub", .topic = "up", .payload = payload}}, {}, Instant{0});
  }
  std::string taken() {
    std::string all;
    for (const auto& [token, payload] : std::exchange(link.sent, {})) all += payload;
    return all;
  }
  SilentLink link;
  Delivery delivery{nullptr, 1'000'000};
};

TEST_F(Deliveries, WhatIsReturnedIsSentAgainALittleLaterAndOnlyThat) {
  for (const char* payload : {"a", "b", "c"}) put(payload);
  delivery.pump({}, Instant{0});
  const std::uint64_t second = link.sent.at(1).first;
  EXPECT_EQ(taken(), "abc");
  put("d");
  delivery.pump({{.token = second, .fate = Fate::returned}}, Instant{1});
  EXPECT_EQ(taken(), "") << "not at once";
  delivery.pump({}, Instant{2});
  delivery.pump({}, Instant{2});
  EXPECT_EQ(taken(), "bd");
  EXPECT_EQ(delivery.in_flight(), 4);
}

TEST_F(Deliveries, WhatIsRefusedIsNotSentAgainAndCountsNotAsSent) {
  for (const char* payload : {"a", "b"}) put(payload);
  delivery.pump({}, Instant{0});
  const std::uint64_t first = link.sent.at(0).first, second = link.sent.at(1).first;
  delivery.pump({{.token = first, .fate = Fate::refused}, {.token = second, .fate = Fate::confirmed}}, Instant{1});
  EXPECT_EQ(delivery.refused(), 1U);
  EXPECT_EQ(delivery.sent(), 1U);
  EXPECT_EQ(delivery.waiting(), 0U);
  EXPECT_EQ(taken(), "ab");
}

TEST_F(Deliveries, PlacesOfReturnedLettersAreGivenBack) {
  for (int i = 0; i < 250; ++i) put("x");
  std::vector<Receipt> returned;
  for (int round = 0; round < 5; ++round) {
    delivery.pump(std::exchange(returned, {}), Instant{2.0 * round});
    delivery.pump({}, Instant{2.0 * round + 1});
    EXPECT_EQ(link.sent.size(), 100U) << "so many may be in flight";
    for (const auto& [token, payload] : std::exchange(link.sent, {}))
      returned.push_back({.token = token, .fate = Fate::returned});
  }
}

}  // namespace
}  // namespace mangrove::sensors
