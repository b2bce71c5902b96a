#include "mangrove/exits/early_exit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/graph/small_networks.h"

#include "mangrove/base/random.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::exits {
namespace {

constexpr std::int64_t kInputs = 6, kClasses = 3;

/// Three exits; values skip one: the input is read again behind the second exit, "h1" too.
Graph skipping_exits() {
  GraphParts parts;
  parts.name = "exits";
  parts.inputs = {{"x", {DType::f32, {kBatch, kInputs}}}};
  parts.outputs = {"e1", "e2", "e3"};
  parts.nodes = {{"a", "Gemm", {}, {"x", "wa"}, {"ha"}},      {"a.tanh", "Tanh", {}, {"ha"}, {"h1"}},
                 {"exit1", "Gemm", {}, {"h1", "w1"}, {"e1"}}, {"b", "Gemm", {}, {"h1", "wb"}, {"hb"}},
                 {"b.tanh", "Tanh", {}, {"hb"}, {"h2"}},      {"exit2", "Gemm", {}, {"h2", "w2"}, {"e2"}},
                 {"join", "Add", {}, {"h2", "h1"}, {"sum"}},  {"c", "Gemm", {}, {"x", "wc"}, {"hc"}},
                 {"all", "Add", {}, {"sum", "hc"}, {"h3"}},   {"exit3", "Gemm", {}, {"h3", "w3"}, {"e3"}}};
  parts.initializers = {{"wa", random_tensor({kInputs, 5}, 1, 1)},  {"wb", random_tensor({5, 5}, 1, 2)},
                        {"wc", random_tensor({kInputs, 5}, 1, 3)},  {"w1", random_tensor({5, kClasses}, 1, 4)},
                        {"w2", random_tensor({5, kClasses}, 1, 5)}, {"w3", random_tensor({5, kClasses}, 1, 6)}};
  return Graph::create(std::move(parts)).value();
}

/// All exits of all samples, computed by the whole graph at once: [exit][sample * kClasses + class].
std::vector<std::vector<float>> all_exits(const Graph& graph, std::int64_t count, const std::vector<float>& samples) {
  const auto program = Program::compile(graph, {.batch = count, .backend = "portable"}).value();
  const auto execution = Execution::create(program).value();
  std::ranges::copy(samples, execution->input<float>("x").begin());
  execution->forward();
  std::vector<std::vector<float>> logits;
  for (const std::string& output : graph.outputs()) {
    const auto rows = execution->output<float>(output);
    logits.emplace_back(rows.begin(), rows.end());
  }
  return logits;
}

std::span<const float> row(const std::vector<float>& rows, std::int64_t sample) {
  return std::span(rows).subspan(static_cast<std::size_t>(sample * kClasses), kClasses);
}

TEST(NormalisedEntropy, IsThatOfTheSoftmax) {
  EXPECT_FLOAT_EQ(normalised_entropy(std::vector<float>{2, 2, 2, 2}), 1);
  EXPECT_FLOAT_EQ(normalised_entropy(std::vector<float>{0, 1000}), 0);
  EXPECT_NEAR(normalised_entropy(std::vector<float>{0, std::log(3.0f)}), 0.8112781, 1e-6);  // of 1/4 and 3/4, in bits
  EXPECT_FLOAT_EQ(normalised_entropy(std::vector<float>{0, -INFINITY}), 0);
  EXPECT_FLOAT_EQ(normalised_entropy(std::vector<float>{5}), 0);
  EXPECT_TRUE(std::isnan(normalised_entropy(std::vector<float>{0, NAN})));
}

TEST(EarlyExit, EachSampleAnswersAtTheFirstExitThatIsCertain) {
  const Graph graph = skipping_exits();
  Random random(7);
  const std::vector<float> thresholds = {0.5f, 0.7f};
  const auto network = EarlyExit::create(graph, thresholds, {.micro_batch = 13, .backend = "portable"});
  ASSERT_TRUE(network.ok()) << network.error().message;
  std::vector<int> left(3);
  for (const std::int64_t count : {13, 1, 8, 5, 13, 2}) {
    std::vector<float> samples(static_cast<std::size_t>(count * kInputs));
    for (float& x : samples) x = static_cast<float>(random.normal());
    const auto expected = all_exits(graph, count, samples);
    const auto answers = (*network)->classify(count, samples);
    ASSERT_TRUE(answers.ok()) << answers.error().message;
    ASSERT_EQ(answers->size(), static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t exit = 0;
      while (exit < 2 && normalised_entropy(row(expected[exit], i)) > thresholds[exit]) ++exit;
      const EarlyExit::Answer& answer = (*answers)[static_cast<std::size_t>(i)];
      ASSERT_EQ(answer.exit, static_cast<std::int32_t>(exit)) << "sample " << i << " of " << count;
      const auto logits = row(expected[exit], i);
      EXPECT_EQ(answer.predicted, std::ranges::max_element(logits) - logits.begin());
      EXPECT_NEAR(answer.entropy, normalised_entropy(logits), 1e-5);
      for (std::int64_t c = 0; c < kClasses; ++c)
        EXPECT_NEAR((*network)->logits()[static_cast<std::size_t>(i * kClasses + c)],
                    logits[static_cast<std::size_t>(c)], 1e-5);
      ++left[exit];
    }
  }
  for (const int samples : left) EXPECT_GT(samples, 0);  // else the test shows less than it says
}

TEST(EarlyExit, TellsAllEntropiesAndTakesOtherThresholds) {
  const Graph graph = skipping_exits();
  const auto network = EarlyExit::create(graph, {0, 0}, {.micro_batch = 9, .backend = "portable"}).value();
  std::vector<float> samples(9 * kInputs);
  Random random(8);
  for (float& x : samples) x = static_cast<float>(random.normal());
  const auto expected = all_exits(graph, 9, samples);
  for (const std::vector<float>& thresholds : {std::vector<float>{0.5f, 0.7f}, {0, 1}, {1, 1}}) {
    network->set_thresholds(thresholds);
    const auto answers = network->classify(9, samples).value();
    ASSERT_EQ(network->entropies().size(), 9u * 3);
    for (std::size_t i = 0; i < 9; ++i) {
      for (std::size_t exit = 0; exit < 3; ++exit) {
        const float entropy = network->entropies()[3 * i + exit];
        const bool came = static_cast<std::int32_t>(exit) <= answers[i].exit;
        EXPECT_EQ(std::isnan(entropy), !came) << i << ", exit " << exit;
        if (!came) continue;
        EXPECT_NEAR(entropy, normalised_entropy(row(expected[exit], static_cast<std::int64_t>(i))), 1e-5);
        if (exit < 2) {
          EXPECT_EQ(entropy <= thresholds[exit], static_cast<std::int32_t>(exit) == answers[i].exit);
        }
      }
    }
  }
}

TEST(EarlyExit, PartsOfANetworkSayWhatTheWholeSays) {
  const Graph graph = skipping_exits();
  const std::vector<float> thresholds = {0.7f, 0.8f};
  const CompiledStageOptions options{.micro_batch = 13, .backend = "portable"};
  std::vector<float> samples(13 * kInputs);
  Random random(9);
  for (float& x : samples) x = static_cast<float>(random.normal());
  const auto whole = EarlyExit::create(graph, thresholds, options).value();
  const auto expected = whole->classify(13, samples).value();
  for (const std::size_t cut : {1u, 2u}) {
    const auto below = EarlyExit::create(graph, thresholds, options, {.end = cut}).value();
    const auto above = EarlyExit::create(graph, thresholds, options, {.first = cut}).value();
    EXPECT_EQ(below->exits() + above->exits(), 3u);
    const auto first = below->classify(13, samples).value();
    const auto is_stay = [&](const EarlyExit::Answer& answer) { return answer.exit == static_cast<int>(cut); };
    const std::int64_t stayed = std::ranges::count_if(first, is_stay);
    ASSERT_GT(stayed, 0);
    ASSERT_LT(stayed, 13);
    ASSERT_EQ(std::ssize(below->passed()), above->input_elements(stayed));
    const auto second = above->classify(stayed, below->passed()).value();
    EXPECT_TRUE(above->passed().empty());
    for (std::size_t i = 0, rest = 0; i < 13; ++i) {
      const EarlyExit::Answer& answer = is_stay(first[i]) ? second[rest++] : first[i];
      EXPECT_EQ(answer.exit, expected[i].exit) << i;
      EXPECT_EQ(answer.predicted, expected[i].predicted) << i;
      const std::int32_t rough = first[i].predicted;
      EXPECT_TRUE(rough >= 0 && rough < kClasses) << "also of those that stay";
    }
  }
  EXPECT_EQ(EarlyExit::create(graph, thresholds, options, {.first = 3}).code(), Code::invalid_argument);
}

TEST(EarlyExit, WhatLeavesIsNotComputedFurther) {
  const Graph graph = skipping_exits();
  const auto network = EarlyExit::create(graph, {1, 1}, {.micro_batch = 4, .backend = "portable"}).value();
  ASSERT_TRUE(network->classify(4, std::vector<float>(4 * kInputs, 0.5f)).ok());
  EXPECT_EQ(network->compiled(), 1u);  // the later segments have never been needed
}

TEST(EarlyExit, IsTheWholeNetworkWithoutExits) {
  const Graph graph = skipping_exits();
  std::vector<float> samples(3 * kInputs);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(i % 5) - 2;
  const auto expected = all_exits(graph, 3, samples);
  const auto whole =
      EarlyExit::create(without_early_exits(graph), {}, {.micro_batch = 3, .backend = "portable"}).value();
  ASSERT_TRUE(whole->classify(3, samples).ok());
  for (std::size_t i = 0; i < expected[2].size(); ++i) EXPECT_NEAR(whole->logits()[i], expected[2][i], 1e-5);
}

TEST(EarlyExit, TakesSamplesThatLieInItsFirstProgram) {
  const Graph graph = zoo::build_model("branchy-alexnet", {.sample_shape = {3, 32, 32}, .classes = 5}).value();
  const auto network = EarlyExit::create(graph, {0.9f, 0.9f}, {.micro_batch = 4, .backend = ""}).value();
  std::vector<float> samples(3 * 3072);
  Random random(3);
  for (float& x : samples) x = static_cast<float>(random.uniform());
  ASSERT_TRUE(network->classify(3, samples).ok());
  const std::vector<float> expected(network->logits().begin(), network->logits().end());
  Execution* const first = network->first(3).value();
  std::ranges::copy(samples, first->input<float>("input").begin());
  ASSERT_TRUE(network->classify(3).ok());
  EXPECT_TRUE(std::ranges::equal(network->logits(), expected));
}

TEST(EarlyExit, AnswersSamplesThatAreNoNumbersAtTheLastExit) {
  const auto network = EarlyExit::create(skipping_exits(), {1, 1}, {.micro_batch = 2, .backend = "portable"}).value();
  std::vector<float> samples(2 * kInputs, 0.25f);
  samples[0] = NAN;
  const auto answers = network->classify(2, samples);
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ((*answers)[0].exit, 2);
  EXPECT_EQ((*answers)[1].exit, 0);
}

TEST(EarlyExit, RefusesWhatDoesNotFit) {
  const Graph graph = skipping_exits();
  EXPECT_EQ(EarlyExit::create(graph, {0.5f}, {}).code(), Code::invalid_argument);
  const auto network = EarlyExit::create(graph, {0.5f, 0.5f}, {.micro_batch = 2, .backend = "portable"}).value();
  EXPECT_EQ(network->classify(2, std::vector<float>(kInputs)).code(), Code::data_loss);
  EXPECT_EQ(network->classify(3, std::vector<float>(3 * kInputs)).code(), Code::data_loss);
  EXPECT_EQ(network->classify(0, {}).code(), Code::data_loss);
}

TEST(ExitThresholds, AreOneForEachEarlyExit) {
  const Graph graph = skipping_exits();
  EXPECT_EQ(parse_exit_numbers("exit_thresholds", "0.05,1", graph).value(), (std::vector<float>{0.05f, 1}));
  EXPECT_EQ(exit_numbers_text(std::vector<float>{0.05f, 1}), "0.05,1");
  for (const char* wrong : {"", "0.5", "0.5,0.5,0.5", "0.5,", ",0.5", "0.5;0.5", "0.5,1.1", "-0.1,0", "nan,0", "a,b"})
    EXPECT_EQ(parse_exit_numbers("exit_thresholds", wrong, graph).code(), Code::invalid_argument) << wrong;
  EXPECT_EQ(parse_exit_numbers("exit_thresholds", "0.5", without_early_exits(graph)).code(), Code::invalid_argument);
}

TEST(ExitThresholds, ComeFromTheModelUnlessOthersAreGiven) {
  const Graph graph = skipping_exits();
  EXPECT_FALSE(choose_exit_thresholds("", graph).value().has_value());
  GraphParts parts = graph.parts();
  parts.metadata[kExitThresholdsKey] = "0.25,0.5";
  const Graph tuned = Graph::create(std::move(parts)).value();
  EXPECT_EQ(choose_exit_thresholds("", tuned).value(), (std::vector<float>{0.25f, 0.5f}));
  EXPECT_EQ(choose_exit_thresholds("0,0.1", tuned).value(), (std::vector<float>{0, 0.1f}));
  EXPECT_FALSE(choose_exit_thresholds("none", tuned).value().has_value());
}

}  // namespace
}  // namespace mangrove::exits
