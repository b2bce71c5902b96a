#include "mangrove/learn/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/learn/networks.h"

namespace mangrove::learn {
namespace {

using Vector = std::vector<float>;

// Three steps from w = [0.5, -1.25, 2] at rate 0.1, by PyTorch 1.13.1:
//   for g in [[.1, -.2, .3], [.05, .4, -.6], [-.7, .01, .2]]: w.grad = torch.tensor(g); optimizer.step()
// with SGD(lr=.1), SGD(lr=.1, momentum=.9), SGD(lr=.1, momentum=.9, nesterov=True), Adam(lr=.1), AdamW(lr=.1) and
// RMSprop(lr=.1), each with weight_decay=decay. It has no LARS; those two by NumPy in float64, v = 0 before:
//   rate = .1 * .001 * norm(w) / (norm(g) + decay * norm(w)); v = .9 * v + rate * (g + decay * w); w = w - v
struct OptimizerReference {
  const char* optimizer;
  float decay;
  Vector weights;
};
const OptimizerReference kOptimizerReferences[] = {
    {"sgd", 0, {0.555000007f, -1.27100003f, 2.00999999f}},
    {"sgd", 0.1f, {0.540398479f, -1.2338717f, 1.95059514f}},
    {"momentum", 0, {0.533399999f, -1.27279997f, 2.01270008f}},
    {"momentum", 0.1f, {0.50601846f, -1.20363164f, 1.90199506f}},
    {"nesterov", 0, {0.58506f, -1.29152f, 2.02143002f}},
    {"nesterov", 0.1f, {0.546710432f, -1.19323933f, 1.86412072f}},
    {"adam", 0, {0.358510286f, -1.21633208f, 1.94546735f}},
    {"adam", 0.1f, {0.347368002f, -1.13266587f, 1.85936296f}},
    {"adamw", 0, {0.358510286f, -1.21633208f, 1.94546735f}},
    {"adamw", 0.1f, {0.346581966f, -1.18082976f, 1.88768923f}},
    {"rmsprop", 0, {0.0386920571f, -1.1678133f, 1.608024f}},
    {"rmsprop", 0.1f, {0.480956286f, -0.826204598f, 1.24163711f}},
    {"lars", 0, {0.500025472f, -1.24990754f, 1.99979012f}},
    {"lars", 0.1f, {0.499954876f, -1.24975695f, 1.99955963f}},
};
const Vector kWeights{0.5f, -1.25f, 2};
const Vector kGradients[] = {{0.1f, -0.2f, 0.3f}, {0.05f, 0.4f, -0.6f}, {-0.7f, 0.01f, 0.2f}};

Optimizer optimizer_of(const OptimizerOptions& options, Vector& w, Vector& g, bool spared = false) {
  return Optimizer::create(options, {{w, g, spared}}).value();
}

/// The weights after steps with kGradients, each padded by zeros to the weights' length.
Vector after_steps(const OptimizerOptions& options, Vector w, bool spared = false) {
  Vector g(w.size());
  Optimizer optimizer = optimizer_of(options, w, g, spared);
  for (int step = 0; step < 3; ++step) {
    std::fill(g.begin(), g.end(), 0.0f);
    std::copy(kGradients[step].begin(), kGradients[step].end(), g.begin());
    optimizer.step(0.1f, step + 1);
  }
  return w;
}

TEST(Optimizer, EveryRowMatchesItsReference) {
  for (const OptimizerRow& row : optimizers()) {
    int references = 0;
    for (const auto& [name, decay, expected] : kOptimizerReferences) {
      if (row.name != name) continue;
      ++references;
      const Vector weights = after_steps({.name = name, .weight_decay = decay}, kWeights);
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(weights[i], expected[i], 1e-6) << name << " decay " << decay << " element " << i;
    }
    EXPECT_EQ(references, 2) << row.name;
  }
}

TEST(Optimizer, ItsConstantsAreThoseThatChangeItsSteps) {
  struct Constant {
    const char* name;
    float OptimizerOptions::*value;
    float other;
  };
  constexpr Constant kConstants[] = {
      {"momentum", &OptimizerOptions::momentum, 0.5f}, {"beta1", &OptimizerOptions::beta1, 0.5f},
      {"beta2", &OptimizerOptions::beta2, 0.9f},       {"alpha", &OptimizerOptions::alpha, 0.5f},
      {"epsilon", &OptimizerOptions::epsilon, 0.01f},  {"trust", &OptimizerOptions::trust, 0.01f}};
  for (const OptimizerRow& row : optimizers())
    for (const Constant& constant : kConstants) {
      const OptimizerOptions usual{.name = std::string(row.name)};
      OptimizerOptions changed = usual;
      changed.*constant.value = constant.other;
      const bool is_read = after_steps(usual, kWeights) != after_steps(changed, kWeights);
      EXPECT_EQ(std::ranges::count(optimizers_with(constant.name), row.name), is_read ? 1 : 0)
          << row.name << " " << constant.name;
    }
}

TEST(Optimizer, PaddingStaysZeroAndChangesNothingElse) {
  for (const OptimizerRow& row : optimizers()) {
    Vector padded = kWeights;
    padded.resize(13);
    const OptimizerOptions options{.name = std::string(row.name), .weight_decay = 0.1f, .clip_norm = 0.5f};
    const Vector with = after_steps(options, padded), without = after_steps(options, kWeights);
    for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i], i < 3 ? without[i] : 0) << row.name << " " << i;
  }
}

TEST(Optimizer, SparedParametersDoNotDecay) {
  for (const OptimizerRow& row : optimizers()) {
    if (row.name == "lars") continue;  // its rate differs too
    const std::string name(row.name);
    EXPECT_EQ(after_steps({.name = name, .weight_decay = 0.1f}, kWeights, /*spared=*/true),
              after_steps({.name = name}, kWeights))
        << name;
  }
}

TEST(Optimizer, LarsTakesTheRateAsItIsWhereDecayIsSpared) {
  const Vector lars = after_steps({.name = "lars"}, kWeights, /*spared=*/true);
  const Vector momentum = after_steps({.name = "momentum"}, kWeights);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(lars[i], momentum[i], 1e-6);
}

TEST(Optimizer, LarsLeavesAZeroWeight) {
  Vector w(2), g{1, -1};
  optimizer_of({.name = "lars"}, w, g).step(0.5f, 1);
  EXPECT_EQ(w, (Vector{-0.5f, 0.5f}));
}

TEST(Clipping, ByNormIsOfAllParametersTogether) {
  // torch.nn.utils.clip_grad_norm_ of [3, 4] and [12] to 6.5: [1.5, 2] and [6]
  Vector a(2), b(1), of_a{3, 4}, of_b{12};
  Optimizer::create({.name = "sgd", .clip_norm = 6.5f}, {{a, of_a}, {b, of_b}}).value().step(1, 1);
  EXPECT_NEAR(a[0], -1.5f, 1e-5);
  EXPECT_NEAR(a[1], -2, 1e-5);
  EXPECT_NEAR(b[0], -6, 1e-5);
}

TEST(Clipping, LeavesSmallGradientsAlone) {
  Vector w(2), g{3, -4};
  optimizer_of({.name = "sgd", .clip_norm = 5.1f, .clip_value = 4}, w, g).step(1, 1);
  EXPECT_EQ(w, (Vector{-3, 4}));
}

TEST(Clipping, ByValueCutsEachElement) {
  Vector w(3), g{3, -4, 0.5f};
  optimizer_of({.name = "sgd", .clip_value = 1}, w, g).step(1, 1);
  EXPECT_EQ(w, (Vector{-1, 1, -0.5f}));
}

TEST(SparedFromDecay, BiasesAreAndWeightsAreNot) {
  const Graph graph = small_network();
  const auto names = graph.parameters();
  const std::vector<bool> spared = spared_from_decay(graph);
  ASSERT_EQ(spared.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(spared[i], graph.value(names[i]).shape.rank() == 1) << names[i];
}

TEST(SparedFromDecay, NormalisationsAre) {
  const Graph graph = normalized_network();
  const auto names = graph.parameters();
  const std::vector<bool> spared = spared_from_decay(graph);
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(spared[i], names[i] != "conv.w" && names[i] != "fc.w") << names[i];
}

struct Bad {
  OptimizerOptions options;
  const char* mentioned;
};

TEST(Optimizer, RefusesWhatMakesNoSense) {
  const float nan = std::nanf("");
  const Bad bads[] = {
      {{.name = "adm"}, "did you mean 'adam'"},
      {{.momentum = 1}, "momentum"},
      {{.beta1 = -0.1f}, "beta1"},
      {{.beta2 = nan}, "beta2"},
      {{.alpha = 2}, "alpha"},
      {{.epsilon = 0}, "epsilon"},
      {{.trust = 0}, "trust"},
      {{.weight_decay = -1}, "weight_decay"},
      {{.clip_norm = nan}, "clip_norm"},
      {{.clip_value = -1}, "clip_value"},
  };
  for (const auto& [options, mentioned] : bads) {
    const auto optimizer = Optimizer::create(options, {});
    ASSERT_FALSE(optimizer.ok()) << mentioned;
    EXPECT_NE(optimizer.error().message.find(mentioned), std::string::npos) << optimizer.error().message;
  }
}

TEST(Optimizer, IsTheSameForAnyNumberOfThreads) {
  constexpr std::size_t kElements = 40'001;  // so many that threads are worth it, in uneven parts
  for (const OptimizerRow& row : optimizers()) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      std::vector<float> weights(kElements), gradient(kElements);
      for (std::size_t i = 0; i < kElements; ++i) {
        weights[i] = std::sin(static_cast<float>(i));
        gradient[i] = std::cos(static_cast<float>(3 * i));
      }
      OptimizerOptions options;
      options.name = row.name;
      auto optimizer = Optimizer::create(options, {{weights, gradient}}).value();
      for (std::int64_t step = 1; step <= 3; ++step) optimizer.step(0.1f, step, threads);
      results.push_back(weights);
    }
    EXPECT_EQ(results[1], results[0]) << row.name;
    EXPECT_EQ(results[2], results[0]) << row.name;
  }
}

}  // namespace
}  // namespace mangrove::learn
