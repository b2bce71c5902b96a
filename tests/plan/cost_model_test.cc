#include "mangrove/plan/cost_model.h"

#include <gtest/gtest.h>

#include "mangrove/base/random.h"

namespace mangrove::plan {
namespace {

std::vector<CostSample> samples_of(const LinearCost& cost, std::size_t count) {
  Random random(3);
  std::vector<CostSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    CostSample sample{1e6 * static_cast<double>(1 + random.below(5000)),
                      static_cast<Bytes>(1000 * (1 + random.below(900))), 0};
    sample.seconds = cost.seconds(sample.flops, sample.moved);
    samples.push_back(sample);
  }
  return samples;
}

TEST(LinearCost, FindsTheTermsThatMadeTheSamples) {
  for (const LinearCost made :
       {LinearCost{2e-10, 1e-9, 5e-5}, LinearCost{0, 3e-9, 0}, LinearCost{1e-10, 0, 0}, LinearCost{0, 0, 1e-4}}) {
    const LinearCost fitted = fit_linear_cost(samples_of(made, 12));
    EXPECT_NEAR(fitted.of_flop, made.of_flop, 1e-16);
    EXPECT_NEAR(fitted.of_byte, made.of_byte, 1e-14);
    EXPECT_NEAR(fitted.fixed, made.fixed, 1e-9);
  }
}

TEST(LinearCost, HasNoNegativeTerms) {
  // the larger, the faster: only a fixed time fits
  const std::vector<CostSample> samples = {{1e6, 1000, 3e-3}, {2e6, 2000, 2e-3}, {3e6, 3000, 1e-3}};
  const LinearCost fitted = fit_linear_cost(samples);
  EXPECT_EQ(fitted.of_flop, 0);
  EXPECT_EQ(fitted.of_byte, 0);
  EXPECT_NEAR(fitted.fixed, 2e-3, 1e-12);
}

TEST(LinearCost, TakesFewSamples) {
  EXPECT_EQ(fit_linear_cost({}).seconds(1e9, 1000), 0);
  const std::vector<CostSample> one = {{2e6, 1000, 4e-3}};
  EXPECT_NEAR(fit_linear_cost(one).seconds(2e6, 1000), 4e-3, 1e-12);
}

TEST(CostModel, PredictsEachKindByItsOwnWhereEnoughWereMeasured) {
  Profile profile;
  for (int i = 1; i <= 5; ++i) profile.operators.push_back({"c", "Conv", 1e6 * i, 0, 1e-3 * i, 2e-3 * i});
  for (int i = 1; i <= 4; ++i) profile.operators.push_back({"r", "Relu", 1e6 * i, 1000 * i, 0, 0});
  profile.operators.push_back({"g", "Gemm", 1e6, 0, 1e-3, 2e-3});
  const CostModel model(profile);
  EXPECT_NEAR(model.predicted({"x", "Conv", 1e7, 0}).forward, 1e-2, 1e-8);
  EXPECT_NEAR(model.predicted({"x", "Conv", 1e7, 0}).backward, 2e-2, 1e-8);
  EXPECT_EQ(model.predicted({"x", "Relu", 1e7, 10000}).forward, 0);
  // of one Gemm nothing can be said but by all operators
  EXPECT_GT(model.predicted({"x", "Gemm", 1e7, 0}).forward, 1e-3);
}

}  // namespace
}  // namespace mangrove::plan
