#include "mangrove/codec/error_feedback.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "mangrove/base/random.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

std::unique_ptr<Codec> make(std::string_view text, std::size_t elements) {
  return make_codec(text, {.layers = {{1, static_cast<std::int64_t>(elements)}}, .seed = 1}).value();
}

TEST(ErrorFeedback, LosesNothing) {
  constexpr std::size_t kElements = 500;
  const Stream stream{.layers = {{20, 20}, {1, 100}}, .seed = 1};
  for (const CodecRow& row : codecs()) {
    if (row.is_unbiased || row.keeps_residual) continue;
    ErrorFeedback sender(make_codec(row.name, stream).value(), kElements);
    const auto receiver = make_codec(row.name, stream).value();
    Random random(3);
    std::vector<double> given(kElements, 0), arrived(kElements, 0);
    std::vector<float> values(kElements), decoded(kElements);
    for (int round = 0; round < 50; ++round) {
      for (std::size_t i = 0; i < kElements; ++i) given[i] += values[i] = static_cast<float>(random.normal());
      ASSERT_TRUE(receiver->decode(sender.encode(values), decoded).ok());
      ASSERT_EQ(decoded, std::vector<float>(sender.sent().begin(), sender.sent().end()));
      for (std::size_t i = 0; i < kElements; ++i) arrived[i] += decoded[i];
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      ASSERT_NEAR(arrived[i] + sender.residual()[i], given[i], 1e-3) << row.name << " " << i;
    }
  }
}

TEST(ErrorFeedback, BeginsAnewAfterNumbersThatAreNone) {
  ErrorFeedback sender(make("top_k(0.5)", 4), 4);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  sender.encode(std::vector<float>{nan, infinity, 1, 2});
  const std::span<const float> residual = sender.residual();
  EXPECT_EQ(std::vector<float>(residual.begin(), residual.end()), (std::vector<float>{0, 0, 1, 2}));
}

/// Linear regression, the samples of which four senders hold different parts: where the whole gradient is zero theirs
/// are not, so that none may send its largest elements only.
class LeastSquares {
 public:
  static constexpr std::size_t kSenders = 4, kSamples = 200, kElements = 100;

  LeastSquares() {
    Random random(2);
    std::vector<double> common(kElements);
    for (double& value : common) value = random.normal();
    for (Part& part : parts_) {
      std::vector<float> truth(kElements);
      for (std::size_t i = 0; i < kElements; ++i) truth[i] = static_cast<float>(common[i] + 0.5 * random.normal());
      for (std::size_t sample = 0; sample < kSamples; ++sample) {
        std::vector<float> input(kElements);
        for (float& value : input) value = static_cast<float>(random.normal());
        const double target = dot(input, truth);
        for (std::size_t i = 0; i < kElements; ++i) {
          part.vector[i] += target * input[i] / kSamples;
          for (std::size_t j = 0; j < kElements; ++j) {
            part.matrix[i * kElements + j] += static_cast<double>(input[i]) * input[j] / kSamples;
          }
        }
      }
    }
  }

  /// Of one sender's mean squared error, halved.
  std::vector<float> gradient(std::size_t sender, const std::vector<float>& weights) const {
    const Part& part = parts_[sender];
    std::vector<float> result(kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      double sum = -part.vector[i];
      for (std::size_t j = 0; j < kElements; ++j) sum += part.matrix[i * kElements + j] * weights[j];
      result[i] = static_cast<float>(sum);
    }
    return result;
  }

  /// By gradient descent, each sender's gradients going through its codec. As its loss it is told their norm, which is
  /// the lower the nearer the solution.
  std::vector<float> solve(const std::vector<std::unique_ptr<Codec>>& senders, float first_rate = 0.01f) const {
    std::vector<float> weights(kElements, 0), decoded(kElements);
    for (int step = 0; step < 6000; ++step) {
      const float rate = first_rate / (1 + static_cast<float>(step) / 500);
      std::vector<float> update(kElements, 0);
      for (std::size_t sender = 0; sender < kSenders; ++sender) {
        const std::vector<float> values = gradient(sender, weights);
        senders[sender]->told_loss(std::sqrt(sum_of_squares(values)));
        const std::string message = senders[sender]->encode(values);
        EXPECT_TRUE(senders[sender]->decode(message, decoded).ok());
        for (std::size_t i = 0; i < kElements; ++i) update[i] += decoded[i] / kSenders;
      }
      for (std::size_t i = 0; i < kElements; ++i) weights[i] -= rate * update[i];
    }
    return weights;
  }

 private:
  static double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }

  struct Part {
    std::vector<double> matrix = std::vector<double>(kElements * kElements, 0);
    std::vector<double> vector = std::vector<double>(kElements, 0);
  };
  std::array<Part, kSenders> parts_;
};

double relative_distance(const std::vector<float>& from, const std::vector<float>& to) {
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    difference += (from[i] - to[i]) * (from[i] - to[i]);
    whole += to[i] * to[i];
  }
  return std::sqrt(difference / whole);
}

TEST(ErrorFeedback, LetsOneElementInAHundredReachTheSolutionOfAll) {
  const LeastSquares problem;
  std::vector<std::unique_ptr<Codec>> dense, with, without;
  for (std::size_t sender = 0; sender < LeastSquares::kSenders; ++sender) {
    dense.push_back(make("none", LeastSquares::kElements));
    without.push_back(make("top_k(0.01)", LeastSquares::kElements));
    with.push_back(
        std::make_unique<ErrorFeedback>(make("top_k(0.01)", LeastSquares::kElements), LeastSquares::kElements));
  }
  const std::vector<float> solution = problem.solve(dense);
  const double distance_with = relative_distance(problem.solve(with), solution);
  const double distance_without = relative_distance(problem.solve(without), solution);
  RecordProperty("with", std::to_string(distance_with));
  RecordProperty("without", std::to_string(distance_without));
  EXPECT_LT(distance_with, 0.02);
  EXPECT_GT(distance_without, 0.3);
}

TEST(ErrorFeedback, LetsEveryBiasedCodecReachTheSolution) {
  const LeastSquares problem;
  const Stream stream{.layers = {{10, 10}}, .seed = 1};
  const auto senders_of = [&](const CodecRow& row) {
    std::vector<std::unique_ptr<Codec>> senders;
    for (std::uint64_t sender = 0; sender < LeastSquares::kSenders; ++sender) {
      auto codec = make_codec(row.name, {.layers = stream.layers, .seed = sender}).value();
      if (!row.keeps_residual) codec = std::make_unique<ErrorFeedback>(std::move(codec), LeastSquares::kElements);
      senders.push_back(std::move(codec));
    }
    return senders;
  };
  const std::vector<float> solution = problem.solve(senders_of(*find_codec("none").value()));
  for (const CodecRow& row : codecs()) {
    if (row.is_unbiased) continue;
    // those that keep a residual have momentum, which makes ten times of the rate, and begins anew where something was
    // sent: senders that send an element more or less often than others count for more or less
    const float rate = row.keeps_residual ? 0.001f : 0.01f;
    const double distance = relative_distance(problem.solve(senders_of(row), rate), solution);
    RecordProperty(std::string(row.name), std::to_string(distance));
    EXPECT_LT(distance, row.keeps_residual ? 0.06 : 0.005) << row.name;
  }
}

}  // namespace
}  // namespace mangrove::codec
