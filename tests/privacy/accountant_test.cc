#include "mangrove/privacy/accountant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mangrove/privacy/renyi.h"

namespace mangrove::privacy {
namespace {

struct Divergence {
  double rate, noise, order, expected;
};

// What accountant_reference.py prints: integrals over the definition.
const Divergence kDivergences[] = {
    {0.01, 2.5, 1.5, 1.30014179e-05}, {0.01, 2.5, 2.5, 2.17083611e-05},   {0.01, 2.5, 5, 4.36151312e-05},
    {0.01, 2.5, 50, 0.000476920751},  {0.01, 2.5, 100, 3.34832615},       {0.1, 2, 10, 0.0186242543},
    {0.004, 1.1, 1.1, 1.1236848e-05}, {0.004, 1.1, 8.3, 8.96055148e-05},  {0.2, 0.7, 1.7, 0.163664509},
    {0.2, 0.7, 4, 1.94914317},        {0.5, 1, 2.9, 0.65704846},          {0.9, 1.5, 3.3, 0.639813664},
    {0.999, 3, 6.5, 0.360570711},     {1e-05, 0.8, 10.9, 2.05660979e-09}, {0.05, 20, 64.0, 0.000201741316},
    {0.3, 100, 512.0, 0.00232910205},
};

TEST(Renyi, IsTheIntegralOfItsDefinition) {
  for (const auto& [rate, noise, order, expected] : kDivergences) {
    EXPECT_NEAR(renyi_of_sampled_gaussian(rate, noise, order), expected, 1e-7 * expected + 1e-11)
        << "rate " << rate << ", noise " << noise << ", order " << order;
  }
}

TEST(Renyi, IsWhatTensorFlowPrivacyTests) {  // rdp_accountant_test.py, of 50 steps
  const std::pair<double, double> published[] = {
      {1.5, 0.00065}, {2.5, 0.001085}, {5, 0.00218075}, {50, 0.023846}, {100, 167.416307}};
  for (const auto& [order, divergence] : published)
    EXPECT_NEAR(50 * renyi_of_sampled_gaussian(0.01, 2.5, order), divergence, 1e-5) << order;
  EXPECT_NEAR(10 * renyi_of_sampled_gaussian(0.1, 2, 5), 0.07737, 1e-5);
}

TEST(Renyi, WithoutSamplingIsThatOfTheGaussianMechanism) {
  EXPECT_EQ(renyi_of_sampled_gaussian(0, 1, 3), 0);
  for (const double order : {1.1, 2.0, 7.5, 64.0}) {
    EXPECT_DOUBLE_EQ(renyi_of_sampled_gaussian(1, 3, order), order / 18);
    EXPECT_NEAR(renyi_of_sampled_gaussian(1 - 1e-9, 3, order), order / 18, 1e-6);
  }
}

TEST(Renyi, GrowsWithTheOrderAcrossWholeNumbers) {  // whole orders and others have formulas of their own
  for (const double rate : {1e-4, 0.02, 0.5, 0.97}) {
    for (const double noise : {0.4, 1.0, 5.0}) {
      for (int order = 2; order <= 10; ++order) {
        const double before = renyi_of_sampled_gaussian(rate, noise, order - 1e-4);
        const double at = renyi_of_sampled_gaussian(rate, noise, order);
        const double behind = renyi_of_sampled_gaussian(rate, noise, order + 1e-4);
        EXPECT_TRUE(before <= at + 1e-11 && at <= behind + 1e-11) << rate << " " << noise << " " << order;
        EXPECT_NEAR(before, behind, 1e-2 * at + 1e-10) << rate << " " << noise << " " << order;
      }
    }
  }
}

/// The conversion of Mironov 2017, proposition 3, which older programs have.
double classical_epsilon(double rate, double noise, std::int64_t steps, double delta) {
  double least = std::numeric_limits<double>::infinity();
  for (int tenths = 11; tenths < 640; tenths += tenths < 109 ? 1 : 10) {
    const double order = tenths < 110 ? tenths / 10.0 : std::floor(tenths / 10.0);  // as in those programs
    const double divergence = static_cast<double>(steps) * renyi_of_sampled_gaussian(rate, noise, order);
    least = std::min(least, divergence - std::log(delta) / (order - 1));
  }
  return least;
}

TEST(Accountant, TheDivergencesGivePublishedEpsilons) {
  // tensorflow/privacy, tutorials/README.md: MNIST in batches of 256, delta 1e-5
  constexpr std::int64_t kEpoch = 60000 / 256;
  EXPECT_NEAR(classical_epsilon(256.0 / 60000, 1.12, 60 * kEpoch, 1e-5), 2.92, 0.005);
  EXPECT_NEAR(classical_epsilon(256.0 / 60000, 1.2, 10 * kEpoch, 1e-5), 1.20, 0.005);
  // Abadi et al. 2016, section 3: q = 0.01, sigma = 4, 100 epochs, delta 1e-5
  EXPECT_NEAR(classical_epsilon(0.01, 4, 10000, 1e-5), 1.26, 0.005);
}

TEST(Accountant, SaysNoMoreThanTheClassicalConversionAndNoLessThanTheTruth) {
  const struct {
    double noise;
    std::int64_t steps;
    double delta, exact;  // what accountant_reference.py prints, without sampling
  } cases[] = {{1, 1, 1e-5, 4.3771781},
               {10, 100, 1e-5, 4.3771781},
               {5, 4, 1e-6, 1.76564817},
               {0.5, 1, 1e-5, 9.99725615},
               {40, 64, 1e-9, 1.10404026}};
  for (const auto& [noise, steps, delta, exact] : cases) {
    const double epsilon = Accountant(1, noise).epsilon(steps, delta);
    EXPECT_GE(epsilon, exact) << noise;
    EXPECT_LE(epsilon, 1.1 * exact) << noise;
    EXPECT_LT(epsilon, classical_epsilon(1, noise, steps, delta)) << noise;
  }
}

TEST(Accountant, OfRandomDrawsIsWhatTheDefinitionSays) {
  const struct {
    double rate, noise;
    std::int64_t steps;
    double delta, expected;  // what accountant_reference.py prints
  } cases[] = {{256.0 / 60000, 1.12, 14040, 1e-5, 2.51646244},
               {0.05, 0.8, 500, 1e-6, 14.8493313},
               {0.5, 6, 200, 1e-3, 4.38533449}};
  for (const auto& [rate, noise, steps, delta, expected] : cases)
    EXPECT_NEAR(Accountant(rate, noise).epsilon(steps, delta), expected, 1e-6) << rate;
}

TEST(Accountant, NoStepCostsNothingAndMoreStepsCostMore) {
  const Accountant accountant(0.02, 1.1);
  EXPECT_EQ(accountant.epsilon(0, 1e-5), 0);
  double before = 0;
  for (const std::int64_t steps : {1, 2, 10, 100, 1000, 100000}) {
    const double now = accountant.epsilon(steps, 1e-5);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_GT(accountant.epsilon(100, 1e-7), accountant.epsilon(100, 1e-5));
}

TEST(Accountant, StepsWithinABudgetAreTheMostThatFit) {
  const Accountant accountant(0.02, 1.1);
  for (const double epsilon : {0.9, 1.0, 2.0, 8.0}) {
    const Budget budget{epsilon, 1e-5};
    const std::int64_t most = accountant.steps_within(budget, 1'000'000);
    EXPECT_LE(accountant.epsilon(most, budget.delta), epsilon);
    EXPECT_GT(accountant.epsilon(most + 1, budget.delta), epsilon);
    EXPECT_EQ(accountant.steps_within(budget, most / 2), most / 2);
  }
  EXPECT_EQ(Accountant(1, 0.1).steps_within({1, 1e-5}, 100), 0);
}

TEST(Accountant, ForSoManyStepsTakesTheLeastNoise) {
  for (const double epsilon : {0.5, 2.0, 8.0}) {
    for (const double rate : {0.004, 0.1, 1.0}) {
      const Budget budget{epsilon, 1e-5};
      const Accountant accountant = Accountant::for_steps(budget, rate, 500).value();
      EXPECT_LE(accountant.epsilon(500, budget.delta), epsilon);
      EXPECT_GT(Accountant(rate, 0.998 * accountant.noise()).epsilon(500, budget.delta), epsilon);
      EXPECT_EQ(accountant.rate(), rate);
    }
  }
}

TEST(Accountant, AnEpsilonThatNoNoiseReachesIsAnError) {
  const auto none = Accountant::for_steps({1e-3, 1e-9}, 0.5, 10);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.code(), Code::invalid_argument);
  EXPECT_NE(none.error().message.find("the least that can be shown for delta"), std::string::npos)
      << none.error().message;
}

}  // namespace
}  // namespace mangrove::privacy
