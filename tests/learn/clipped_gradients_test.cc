#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/learn/networks.h"

#include "mangrove/learn/clip.h"
#include "mangrove/learn/replica.h"

namespace mangrove::learn {
namespace {

using Vector = std::vector<float>;

std::unique_ptr<Replica> clipped_replica(const Graph& graph, const std::string& backend, std::int64_t batch,
                                         std::int64_t micro_batch) {
  auto replica = Replica::create(graph, {.batch = batch, .micro_batch = micro_batch, .backend = backend});
  MG_CHECK_MSG(replica.ok(), replica.ok() ? "" : replica.error().message);
  return std::move(replica).value();
}

double norm(const Vector& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares);
}

class ClippedGradientsOn : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::uint32_t kSamples = 7;

  /// The gradient of each sample, from a program for one row at a time.
  std::vector<Vector> gradients(const Graph& graph) const {
    const auto replica = clipped_replica(graph, GetParam(), 1, 1);
    std::vector<Vector> all;
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      replica->compute_gradients(batch_of(dataset_, i, 1, 1), 1);
      replica->read_gradients(all.emplace_back(static_cast<std::size_t>(replica->parameter_elements())));
    }
    return all;
  }
  Vector clipped(const Graph& graph, std::int64_t rows, double most) const {
    const auto replica = clipped_replica(graph, GetParam(), rows, 1);
    Vector sum(static_cast<std::size_t>(replica->parameter_elements()));
    stats_ = {};
    for (std::uint32_t i = 0; i < kSamples; i += static_cast<std::uint32_t>(rows)) {
      const auto count = std::min(kSamples - i, static_cast<std::uint32_t>(rows));
      stats_ += replica->add_clipped_gradients(batch_of(dataset_, i, count, rows), most, sum);
    }
    return sum;
  }

  const Patterns dataset_{kSamples};
  mutable BatchStats stats_;
};
INSTANTIATE_TEST_SUITE_P(Backends, ClippedGradientsOn,
                         ::testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& test) { return test.param; });

TEST_P(ClippedGradientsOn, AreTheSumOfEachSamplesOwnCutDownToTheNorm) {
  for (const Graph& graph : {small_network(), branchy_network()}) {
    const std::vector<Vector> all = gradients(graph);
    std::vector<double> norms;
    for (const Vector& gradient : all) norms.push_back(norm(gradient));
    std::ranges::sort(norms);
    ASSERT_GT(norms.back(), 1.1 * norms.front());
    // none, all, and some are cut
    for (const double most : {2 * norms.back(), 0.1 * norms.front(), norms[norms.size() / 2]}) {
      Vector expected(all.front().size());
      for (const Vector& gradient : all) {
        const double factor = std::min(1.0, most / norm(gradient));
        for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += static_cast<float>(factor * gradient[k]);
      }
      for (const std::int64_t rows : {1, 3, 7, 12}) {
        const Vector sum = clipped(graph, rows, most);
        for (std::size_t k = 0; k < sum.size(); ++k)
          ASSERT_NEAR(sum[k], expected[k], 1e-5 * most) << graph.name() << " rows " << rows << " element " << k;
        EXPECT_EQ(stats_.count, kSamples);
      }
    }
  }
}

TEST_P(ClippedGradientsOn, OfOneSampleAreNoLongerThanTheNorm) {
  const auto replica = clipped_replica(small_network(), GetParam(), 4, 1);
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    Vector sum(static_cast<std::size_t>(replica->parameter_elements()));
    replica->add_clipped_gradients(batch_of(dataset_, i, 1, 4), 0.01, sum);
    EXPECT_NEAR(norm(sum), 0.01, 1e-7) << i;
  }
}

TEST_P(ClippedGradientsOn, WithoutCuttingAreThoseOfTheBatch) {
  const auto replica = clipped_replica(small_network(), GetParam(), kSamples, kSamples);
  const BatchStats stats = replica->compute_gradients(batch_of(dataset_, 0, kSamples, kSamples), 1);
  Vector whole(static_cast<std::size_t>(replica->parameter_elements()));
  replica->read_gradients(whole);
  const Vector sum = clipped(small_network(), kSamples, 1e6);
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(sum[k], whole[k], 1e-4) << k;
  EXPECT_NEAR(stats_.loss, stats.loss, 1e-4);
  EXPECT_EQ(stats_.correct, stats.correct);
}

TEST_P(ClippedGradientsOn, AddToWhatIsThereAndASampleWithoutNumbersAddsNothing) {
  const auto replica = clipped_replica(small_network(), GetParam(), 2, 1);
  data::Batch batch = batch_of(dataset_, 0, 2, 2);
  Vector sum(static_cast<std::size_t>(replica->parameter_elements()), 5.0f), first = sum;
  replica->add_clipped_gradients(batch_of(dataset_, 0, 1, 2), 1, first);
  const auto images = batch.images.as<float>();
  std::fill(images.begin() + 36, images.end(), std::numeric_limits<float>::quiet_NaN());
  replica->add_clipped_gradients(batch, 1, sum);
  EXPECT_EQ(sum, first);
  EXPECT_NE(sum, Vector(sum.size(), 5.0f));
}

TEST(ClipFactor, CutsToTheNorm) {
  EXPECT_EQ(clip_factor(4, 2), 1);
  EXPECT_EQ(clip_factor(0, 2), 1);
  EXPECT_DOUBLE_EQ(clip_factor(16, 2), 0.5);
  EXPECT_EQ(clip_factor(std::numeric_limits<double>::infinity(), 2), 0);
  EXPECT_EQ(clip_factor(std::nan(""), 2), 0);
  EXPECT_DOUBLE_EQ(sum_of_squares(std::vector<float>{3, -4}), 25);
}

}  // namespace
}  // namespace mangrove::learn
