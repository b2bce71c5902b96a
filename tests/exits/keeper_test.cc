#include "mangrove/exits/keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "mangrove/base/random.h"
#include "mangrove/exits/tuning.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::exits {
namespace {

constexpr std::size_t kExits = 3;
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

/// Samples whose entropies at the two early exits are powers of equally distributed numbers: the higher the power, the
/// easier they are.
struct Stream {
  Random random{11};

  std::array<float, kExits> next(double power) {
    const double depth = random.uniform();  // which both exits see
    return {static_cast<float>(std::pow(0.5 * depth + 0.5 * random.uniform(), power)),
            static_cast<float>(std::pow(0.7 * depth + 0.3 * random.uniform(), 1.5 * power)), 0.5f};
  }
};

constexpr double kEasy = 4, kHard = 1.5;

ExitRecords recorded() {
  Stream stream{Random(3)};
  ExitRecords records{.exits = kExits, .entropies = {}, .correct = {}, .seconds = {}, .passed = {100, 100, 0}};
  for (int i = 0; i < 4000; ++i)
    for (const float entropy : stream.next(kEasy)) records.entropies.push_back(entropy);
  records.correct.assign(records.entropies.size(), 1);
  records.seconds.assign(kExits, {{1, 1e-6}});
  return records;
}

struct Tuned {
  std::vector<float> thresholds{0.05f, 0.03f};
  std::vector<float> shares;

  Tuned() {
    const ExitForecast expected = forecast(recorded(), thresholds);
    for (std::size_t exit = 0; exit + 1 < kExits; ++exit)
      shares.push_back(static_cast<float>(expected.exits[exit].share));
  }
};

/// Where a sample leaves; what it does not come to is set to NaN.
std::size_t classify(std::span<float> entropies, const std::vector<float>& thresholds) {
  std::size_t exit = 0;
  while (exit + 1 < entropies.size() && !(entropies[exit] <= thresholds[exit])) ++exit;
  std::fill(entropies.begin() + static_cast<std::ptrdiff_t>(exit) + 1, entropies.end(), kAbsent);
  return exit;
}

/// Shares of so many samples that leave at each exit.
template <class Thresholds, class Saw>
std::array<double, kExits> shares_of(Stream& stream, double power, int samples, Thresholds thresholds, Saw saw) {
  std::array<double, kExits> shares{};
  for (int i = 0; i < samples; ++i) {
    auto entropies = stream.next(power);
    shares[classify(entropies, thresholds())] += 1.0 / samples;
    saw(entropies);
  }
  return shares;
}

std::array<double, kExits> kept(ExitKeeper& keeper, Stream& stream, double power, int samples) {
  return shares_of(
      stream, power, samples, [&] { return keeper.thresholds(); },
      [&](const auto& entropies) { keeper.saw(entropies); });
}

TEST(ExitKeeper, KeepsTheSharesWhenInputsBecomeHarder) {
  const Tuned tuned;
  ASSERT_GT(tuned.shares[0], 0.2);
  ASSERT_GT(tuned.shares[1], 0.1);
  ExitKeeper keeper(tuned.thresholds, tuned.shares);
  Stream stream;
  kept(keeper, stream, kEasy, 5000);
  const auto hard = kept(keeper, stream, kHard, 5000);
  for (std::size_t exit = 0; exit + 1 < kExits; ++exit) EXPECT_NEAR(hard[exit], tuned.shares[exit], 0.03) << exit;
  const auto fixed = shares_of(
      stream, kHard, 5000, [&] { return tuned.thresholds; }, [](const auto&) {});
  EXPECT_LT(fixed[0], tuned.shares[0] / 2);
  EXPECT_GT(fixed[2], 1 - tuned.shares[0] - tuned.shares[1] + 0.3) << "so much more goes all the way";
}

TEST(ExitKeeper, ChangesLittleWhileNothingDrifts) {
  const Tuned tuned;
  ExitKeeper keeper(tuned.thresholds, tuned.shares);
  Stream stream;
  for (int i = 0; i < 5; ++i) {
    const auto shares = kept(keeper, stream, kEasy, 2000);
    for (std::size_t exit = 0; exit + 1 < kExits; ++exit) {
      EXPECT_NEAR(shares[exit], tuned.shares[exit], 0.02) << exit;
      EXPECT_NEAR(std::log(keeper.thresholds()[exit] / tuned.thresholds[exit]), 0, 0.7) << exit;
    }
  }
}

/// Whatever the inputs are: here, easy and hard by turns.
TEST(ExitKeeper, DeviatesByNoMoreThanItsThresholdHasMoved) {
  const auto log_odds = [](double threshold) { return std::log(threshold / (1 - threshold)); };
  ExitKeeper keeper({0.2f, 0}, std::vector<float>{0.4f, 0});
  Stream stream;
  double left = 0;
  int samples = 0;
  for (int turn = 0; turn < 20; ++turn) {
    left += 300 * kept(keeper, stream, turn % 2 == 0 ? kHard : kEasy, 300)[0];
    samples += 300;
    const double moved = log_odds(keeper.thresholds()[0]) - log_odds(0.2);
    EXPECT_NEAR(0.4 * samples - left, moved / ExitKeeper::kRate, 0.1) << samples;
  }
}

TEST(ExitKeeper, LeavesExitsAloneThatNoneOrAllLeave) {
  ExitKeeper none({0, 1}, std::vector<float>{0, 1}), behind({1, 0.3f}, std::vector<float>{1, 0});
  for (const float entropy : {0.0f, 0.4f, 1.0f}) {
    none.saw(std::array{entropy, entropy, kAbsent});
    behind.saw(std::array{entropy, entropy, kAbsent});
  }
  EXPECT_EQ(none.thresholds(), (std::vector<float>{0, 1}));
  EXPECT_EQ(behind.thresholds(), (std::vector<float>{1, 0.3f}));
}

TEST(ExitKeeper, LearnsNothingFromWhatIsNoNumber) {
  ExitKeeper keeper({0.2f, 0.3f}, std::vector<float>{0.4f, 0.3f});
  keeper.saw(std::array{kAbsent, 0.1f, 0.1f});
  EXPECT_EQ(keeper.thresholds(), (std::vector<float>{0.2f, 0.3f}));
  keeper.saw(std::array{0.1f, kAbsent, kAbsent});
  EXPECT_LT(keeper.thresholds()[0], 0.2f);
  EXPECT_EQ(keeper.thresholds()[1], 0.3f) << "nothing came to it";
}

TEST(ExitKeeper, RecoversFromThresholdsAtTheEnds) {
  ExitKeeper keeper({0, 1}, std::vector<float>{0.5f, 0.25f});
  Stream stream;
  kept(keeper, stream, kEasy, 20000);  // from log-odds of -80, in steps of 0.01
  const auto shares = kept(keeper, stream, kEasy, 5000);
  EXPECT_NEAR(shares[0], 0.5, 0.02);
  EXPECT_NEAR(shares[1], 0.25, 0.02);
}

TEST(ExitKeeper, KeepsThresholdsOfNetworksThatAreVerySure) {
  ExitKeeper keeper({1e-9f}, std::vector<float>{0.5f});
  Random random{5};
  int left = 0;
  for (int i = 0; i < 5000; ++i) {
    std::array<float, 2> entropies{static_cast<float>(std::pow(10, -18 * random.uniform())), 0.5f};  // median 1e-9
    if (classify(entropies, {keeper.thresholds()[0]}) == 0) ++left;
    keeper.saw(entropies);
  }
  EXPECT_NEAR(left / 5000.0, 0.5, 0.02);
  EXPECT_LT(keeper.thresholds()[0], 1e-7f);
}

TEST(KeptExitShares, AreInTheMetadata) {
  const Graph graph = zoo::build_model("branchy-alexnet", {.sample_shape = {3, 32, 32}, .classes = 5}).value();
  EXPECT_FALSE(kept_exit_shares(graph).value().has_value());
  const auto stored = [&](const char* text) {
    GraphParts parts = graph.parts();
    parts.metadata[kExitSharesKey] = text;
    return kept_exit_shares(Graph::create(std::move(parts)).value());
  };
  EXPECT_EQ(stored("0.25,0.5").value(), (std::vector<float>{0.25f, 0.5f}));
  EXPECT_TRUE(stored("0.333,0.667").ok());
  for (const char* wrong : {"", "0.5", "0.5,0.6", "0.5,-0.1", "a,b"})
    EXPECT_EQ(stored(wrong).code(), Code::invalid_argument) << wrong;
}

}  // namespace
}  // namespace mangrove::exits
