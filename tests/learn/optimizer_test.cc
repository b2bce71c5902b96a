#include "mangrove/learn/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace mangrove::learn {
namespace {

TEST(SgdStep, FollowsAHandWorkedSequence) {
  // Every number is exact in binary. Gradients 0.5, 0.5, -1 with rate 0.5, momentum 0.5, weight decay 0.25:
  //   v1 = 0.5 + 0.25 * 1 = 0.75                     w1 = 1 - 0.375 = 0.625
  //   v2 = 0.375 + (0.5 + 0.15625) = 1.03125         w2 = 0.625 - 0.515625 = 0.109375
  //   v3 = 0.515625 + (-1 + 0.02734375) = -0.45703125  w3 = 0.109375 + 0.228515625 = 0.337890625
  const SgdOptions options{.learning_rate = 0.5f, .momentum = 0.5f, .weight_decay = 0.25f};
  std::vector<float> w{1}, v{0};
  const struct {
    float gradient, velocity, weight;
  } steps[] = {{0.5f, 0.75f, 0.625f}, {0.5f, 1.03125f, 0.109375f}, {-1, -0.45703125f, 0.337890625f}};
  for (const auto& [gradient, velocity, weight] : steps) {
    sgd_step(w, std::vector<float>{gradient}, v, options);
    EXPECT_EQ(v[0], velocity);
    EXPECT_EQ(w[0], weight);
  }
}

TEST(SgdStep, WithoutMomentumAndDecayIsPlainDescent) {
  std::vector<float> w{1, -2}, v{100, 100};
  sgd_step(w, std::vector<float>{4, -8}, v, {.learning_rate = 0.25f, .momentum = 0, .weight_decay = 0});
  EXPECT_EQ(w, (std::vector<float>{0, 0}));
  EXPECT_EQ(v, (std::vector<float>{4, -8}));
}

TEST(SgdStep, PaddingStaysZeroAndElementsAreIndependent) {
  constexpr std::size_t n = 37;  // odd, so that a vectorised loop has a tail
  std::vector<float> w(n), g(n), v(n);
  for (std::size_t i = 0; i < n; i += 2) w[i] = g[i] = static_cast<float>(i + 1);
  const SgdOptions options{.learning_rate = 0.125f, .momentum = 0.5f, .weight_decay = 0.5f};
  for (int step = 0; step < 3; ++step) sgd_step(w, g, v, options);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<float> one_w{i % 2 == 0 ? static_cast<float>(i + 1) : 0}, one_v{0};
    const std::vector<float> one_g = one_w;
    for (int step = 0; step < 3; ++step) sgd_step(one_w, one_g, one_v, options);
    EXPECT_EQ(w[i], one_w[0]) << i;
    EXPECT_EQ(v[i], one_v[0]) << i;
    if (i % 2 == 1) {
      EXPECT_EQ(w[i], 0.0f) << i;
    }
  }
}

TEST(SgdStep, NothingToUpdateIsFine) {
  sgd_step({}, {}, {}, {});
}

struct Rate {
  Schedule schedule;
  std::int64_t step, total, warmup;
  double expected;  // of a base of 1
};

TEST(ScheduledRate, TakesTheStatedValues) {
  using enum Schedule;
  const double pi = std::numbers::pi;
  const Rate rates[] = {
      {constant, 0, 0, 0, 1},
      {constant, 1000000, 10, 0, 1},
      {constant, 0, 100, 4, 0.25},
      {constant, 3, 100, 4, 1},
      {constant, 4, 100, 4, 1},
      {cosine, 0, 100, 0, 1},
      {cosine, 25, 100, 0, (1 + std::cos(pi / 4)) / 2},
      {cosine, 50, 100, 0, 0.5},
      {cosine, 100, 100, 0, 0},
      {cosine, 1000, 100, 0, 0},
      {cosine, 0, 110, 10, 0.1},
      {cosine, 9, 110, 10, 1},
      {cosine, 10, 110, 10, 1},
      {cosine, 60, 110, 10, 0.5},
      {cosine, 109, 110, 10, (1 + std::cos(pi * 0.99)) / 2},
      {cosine, 1, 2, 4, 0.5},  // a warm-up longer than the training
      {cosine, 4, 4, 4, 0},
  };
  for (const auto& [schedule, step, total, warmup, expected] : rates) {
    EXPECT_NEAR(scheduled_rate(schedule, 1, step, total, warmup), expected, 1e-6)
        << "step " << step << " of " << total << ", warm-up " << warmup;
    EXPECT_NEAR(scheduled_rate(schedule, 0.2f, step, total, warmup), 0.2 * expected, 1e-7);
  }
}

TEST(ParseSchedule, KnowsItsNames) {
  EXPECT_EQ(parse_schedule("constant").value(), Schedule::constant);
  EXPECT_EQ(parse_schedule("cosine").value(), Schedule::cosine);
}

TEST(ParseSchedule, SuggestsTheNearestName) {
  const auto schedule = parse_schedule("cosin");
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.code(), Code::not_found);
  EXPECT_NE(schedule.error().message.find("did you mean 'cosine'"), std::string::npos) << schedule.error().message;
}

}  // namespace
}  // namespace mangrove::learn
