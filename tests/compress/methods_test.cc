// Pruning and sharing with real training: what a step has decided outlives all training behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/compress/workplaces.h"

#include "mangrove/compress/layers.h"
#include "mangrove/compress/sensitivity.h"
#include "mangrove/learn/trainer.h"

namespace mangrove::compress {
namespace {

const Graph& perceptron() {
  static const Graph graph = trained_perceptron();
  return graph;
}

std::span<const float> weights(const Graph& graph, const std::string& name) {
  return graph.initializers().at(name).as<float>();
}

std::int64_t kept_weights(const Graph& graph, const std::string& name) {
  return std::ranges::count_if(weights(graph, name), [](float weight) { return weight != 0; });
}

std::int64_t kept_weights(const Graph& graph) {
  std::int64_t kept = 0;
  for (const LayerWeights& layer : layers_with_weights(graph)) kept += kept_weights(graph, layer.weights);
  return kept;
}

std::int64_t all_weights(const Graph& graph) {
  std::int64_t all = 0;
  for (const LayerWeights& layer : layers_with_weights(graph)) all += graph.value(layer.weights).shape.elements();
  return all;
}

std::set<float> values(const Graph& graph, const std::string& name) {
  std::set<float> distinct(weights(graph, name).begin(), weights(graph, name).end());
  distinct.erase(0);
  return distinct;
}

TEST(Prune, KeepsTheLargestWeightsOfAllLayers) {
  const Network pruned = cooked("- prune: {keep: 0.2, rounds: 1, epochs: 0, by: global}", {perceptron(), {}},
                                glyph_workplace(perceptron(), 64));
  std::vector<float> magnitudes;
  for (const LayerWeights& layer : layers_with_weights(perceptron()))
    for (const float weight : weights(perceptron(), layer.weights)) magnitudes.push_back(std::abs(weight));
  std::ranges::sort(magnitudes, std::greater<>());
  const auto kept = static_cast<std::size_t>(std::llround(0.2 * static_cast<double>(magnitudes.size())));
  const float threshold = magnitudes[kept - 1];
  for (const LayerWeights& layer : layers_with_weights(perceptron())) {
    const auto before = weights(perceptron(), layer.weights), after = weights(pruned.graph, layer.weights);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(after[i], std::abs(before[i]) >= threshold ? before[i] : 0) << layer.weights << " " << i;
  }
}

class PruneBy : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Prune, PruneBy, ::testing::Values("global", "layer", "sensitivity"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(PruneBy, KeepsTheShareThatIsAskedForAndTrainsTheRest) {
  const Workplace workplace = glyph_workplace(perceptron(), 2000);
  const Network pruned =
      cooked(std::string("- prune: {keep: 0.1, rounds: 3, epochs: 1, learning_rate: 0.05, by: ") + GetParam() + "}",
             {perceptron(), {}}, workplace);
  const double share = static_cast<double>(kept_weights(pruned.graph)) / static_cast<double>(all_weights(perceptron()));
  EXPECT_NEAR(share, 0.1, 0.01);
  EXPECT_GT(glyph_accuracy(pruned.graph), glyph_accuracy(perceptron()) - 0.05);
}

TEST(Prune, TrainingLeavesZerosZeroWhateverTheOptimizer) {
  const Workplace workplace = glyph_workplace(perceptron(), 640);
  const Network pruned = cooked("- prune: {keep: 0.3, rounds: 1, epochs: 0, by: layer}", {perceptron(), {}}, workplace);
  for (const char* optimizer : {"sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "lars"}) {
    const Network trained = cooked(
        std::string("- train: {epochs: 2, weight_decay: 0.01, learning_rate: 0.01, optimizer: ") + optimizer + "}",
        pruned, workplace);
    for (const LayerWeights& layer : layers_with_weights(perceptron())) {
      const auto before = weights(pruned.graph, layer.weights), after = weights(trained.graph, layer.weights);
      bool is_changed = false;
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] == 0) {
          EXPECT_EQ(after[i], 0) << optimizer << " " << layer.weights << " " << i;
        }
        is_changed |= before[i] != after[i];
      }
      EXPECT_TRUE(is_changed) << optimizer << " " << layer.weights;
    }
  }
}

TEST(Share, WeightsKeepAsManyValuesAsTheirBitsAllowWhenTheyAreTrained) {
  const Workplace workplace = glyph_workplace(perceptron(), 640);
  const std::string steps = "- prune: {keep: 0.3, rounds: 1, epochs: 0}\n- share: {fc_bits: 3, epochs: ";
  const Network shared = cooked(steps + "0}", {perceptron(), {}}, workplace);
  const Network trained = cooked(steps + "2, learning_rate: 0.001}", {perceptron(), {}}, workplace);
  for (const LayerWeights& layer : layers_with_weights(perceptron())) {
    EXPECT_LE(values(shared.graph, layer.weights).size(), 8u);
    EXPECT_GE(values(shared.graph, layer.weights).size(), 6u);
    EXPECT_LE(values(trained.graph, layer.weights).size(), 8u);
    EXPECT_NE(values(trained.graph, layer.weights), values(shared.graph, layer.weights));
    // weights that were equal are equal, those that were zero are zero
    const auto before = weights(shared.graph, layer.weights), after = weights(trained.graph, layer.weights);
    std::map<float, float> became = {{0.0f, 0.0f}};
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(after[i], became.emplace(before[i], after[i]).first->second) << layer.weights << " " << i;
  }
}

/// One step of plain SGD over one batch, without constraints.
Graph stepped(const Graph& graph, const Workplace& workplace, double rate, std::uint64_t seed) {
  learn::Trainer::Options options;
  options.replica.batch = 64;
  options.optimizer.name = "sgd";
  options.learning_rate = static_cast<float>(rate);
  options.schedule.name = "cosine";
  options.total_steps = 1;
  options.seed = seed;
  const auto trainer = learn::Trainer::create(graph, workplace.train, options).value();
  EXPECT_TRUE(trainer->step().ok());
  return trainer->model();
}

TEST(Share, ASharedValueMovesByTheSumOfItsGradients) {
  const Workplace workplace = glyph_workplace(perceptron(), 64);
  const Network shared = cooked("- share: {fc_bits: 2, epochs: 0}", {perceptron(), {}}, workplace);
  const Network trained = cooked("- train: {epochs: 1, learning_rate: 0.01, optimizer: sgd}", shared, workplace);
  const Graph free = stepped(shared.graph, workplace, 0.01, workplace.seed);
  for (const LayerWeights& layer : layers_with_weights(perceptron())) {
    const auto before = weights(shared.graph, layer.weights), after = weights(trained.graph, layer.weights),
               alone = weights(free, layer.weights);
    std::map<float, double> moves;
    for (std::size_t i = 0; i < before.size(); ++i) moves[before[i]] += static_cast<double>(alone[i]) - before[i];
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_NEAR(after[i], before[i] + moves[before[i]], 1e-4 * (1 + std::abs(moves[before[i]]))) << layer.weights;
  }
}

TEST(Train, ATeacherTakesThePlaceOfTheLabels) {
  Workplace workplace = glyph_workplace(perceptron(), 2000);
  const Network pruned = cooked("- prune: {keep: 0.05, rounds: 1, epochs: 0}", {perceptron(), {}}, workplace);
  const std::string settings = "epochs: 4, learning_rate: 0.02";
  const Network taught = cooked("- train: {" + settings + ", teacher: original, temperature: 2}", pruned, workplace);
  EXPECT_LT(glyph_accuracy(pruned.graph), glyph_accuracy(perceptron()) - 0.05);
  EXPECT_GT(glyph_accuracy(taught.graph), glyph_accuracy(perceptron()) - 0.05);
  EXPECT_EQ(kept_weights(taught.graph), kept_weights(pruned.graph));
}

TEST(Sensitivity, LayersThatTheLossFeelsMoreKeepMore) {
  const std::size_t shares = measured_shares().size();
  Sensitivity numb{"numb", 1000, std::vector<double>(shares, 0.1)}, tender{"tender", 1000, {}};
  for (std::size_t i = 0; i < shares; ++i) tender.losses.push_back(0.1 + 0.2 * static_cast<double>(i));
  const auto kept = kept_by_sensitivity({numb, tender}, 0.2);
  EXPECT_NEAR(kept.at("numb") + kept.at("tender"), 0.4, 1e-6);
  EXPECT_GT(kept.at("tender"), 10 * kept.at("numb"));
}

TEST(Sensitivity, LayersThatAreAlikeKeepTheSame) {
  Sensitivity layer{"a", 1000, {0.1, 0.1, 0.15, 0.2, 0.4, 0.8, 1.2, 1.6, 2}};
  Sensitivity twin = layer;
  twin.layer = "b";
  for (const double keep : {0.5, 0.1, 0.004}) {
    const auto kept = kept_by_sensitivity({layer, twin}, keep);
    EXPECT_NEAR(kept.at("a"), keep, 1e-6);
    EXPECT_NEAR(kept.at("b"), keep, 1e-6);
  }
}

}  // namespace
}  // namespace mangrove::compress
