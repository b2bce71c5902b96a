#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/compress/networks.h"
#include "tests/compress/workplaces.h"

#include "mangrove/compress/factors.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::compress {
namespace {

Tensor random_weights(Shape shape, std::uint64_t seed) {
  Tensor tensor(DType::f32, std::move(shape));
  Random random(seed);
  for (float& x : tensor.as<float>()) x = static_cast<float>(random.normal());
  return tensor;
}

double at(const Tensor& tensor, std::int64_t row, std::int64_t column) {
  return tensor.as<float>()[static_cast<std::size_t>(row * tensor.shape()[1] + column)];
}

double squared_difference(const Tensor& matrix, const MatrixFactors& factors) {
  double sum = 0;
  for (std::int64_t i = 0; i < matrix.shape()[0]; ++i)
    for (std::int64_t j = 0; j < matrix.shape()[1]; ++j) {
      double product = 0;
      for (std::int64_t r = 0; r < factors.right.shape()[0]; ++r)
        product += at(factors.left, i, r) * at(factors.right, r, j);
      sum += std::pow(at(matrix, i, j) - product, 2);
    }
  return sum;
}

TEST(Factors, AMatrixOfLowRankComesBack) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 9}, {9, 6}}) {
    const Tensor a = random_weights({m, 2}, 1), b = random_weights({2, n}, 2);
    Tensor product(DType::f32, {m, n});
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        product.as<float>()[static_cast<std::size_t>(i * n + j)] =
            static_cast<float>(at(a, i, 0) * at(b, 0, j) + at(a, i, 1) * at(b, 1, j));
    EXPECT_LT(squared_difference(product, factor_matrix(product, 2)), 1e-8);
    EXPECT_GT(squared_difference(product, factor_matrix(product, 1)), 1e-2);
  }
}

TEST(Factors, NoOtherMatrixOfTheRankIsNearer) {
  const Tensor matrix = random_weights({7, 5}, 3);
  const MatrixFactors best = factor_matrix(matrix, 2);
  const double error = squared_difference(matrix, best);
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {  // the error is at a minimum: whatever is changed makes it larger
    MatrixFactors other{best.left.clone(), best.right.clone()};
    for (Tensor* factor : {&other.left, &other.right})
      for (float& x : factor->as<float>()) x += static_cast<float>(0.02 * random.normal());
    EXPECT_GT(squared_difference(matrix, other), error);
  }
  EXPECT_LT(squared_difference(matrix, factor_matrix(matrix, 5)), 1e-8);
}

/// The kernel that three convolutions amount to.
Tensor composed(const KernelFactors& factors) {
  const std::int64_t outputs = factors.outputs.shape()[0], inputs = factors.inputs.shape()[1];
  const Shape& core = factors.core.shape();
  const std::int64_t places = core[2] * core[3];
  Tensor kernel(DType::f32, {outputs, inputs, core[2], core[3]});
  for (std::int64_t o = 0; o < outputs; ++o)
    for (std::int64_t i = 0; i < inputs; ++i)
      for (std::int64_t p = 0; p < places; ++p) {
        double sum = 0;
        for (std::int64_t a = 0; a < core[0]; ++a)
          for (std::int64_t b = 0; b < core[1]; ++b)
            sum += at(factors.outputs, o, a) * at(factors.inputs, b, i) *
                   factors.core.as<float>()[static_cast<std::size_t>((a * core[1] + b) * places + p)];
        kernel.as<float>()[static_cast<std::size_t>((o * inputs + i) * places + p)] = static_cast<float>(sum);
      }
  return kernel;
}

TEST(Factors, AKernelOfFullRanksComesBackAndOneOfLowRanksToo) {
  const Tensor kernel = random_weights({6, 5, 3, 2}, 5);
  const Tensor whole = composed(factor_kernel(kernel, 6, 5));
  for (std::size_t i = 0; i < kernel.as<float>().size(); ++i)
    EXPECT_NEAR(whole.as<float>()[i], kernel.as<float>()[i], 1e-5);
  const KernelFactors low{random_weights({2, 5, 1, 1}, 6), random_weights({3, 2, 3, 2}, 7),
                          random_weights({6, 3, 1, 1}, 8)};
  const Tensor product = composed(low), again = composed(factor_kernel(product, 3, 2));
  for (std::size_t i = 0; i < product.as<float>().size(); ++i)
    EXPECT_NEAR(again.as<float>()[i], product.as<float>()[i], 1e-4);
}

TEST(LowRank, LayersOfLowRankGiveTheSameAnswersInFewerWeights) {
  Tensor wide(DType::f32, {40, 30});
  const Tensor a = random_weights({40, 3}, 9), b = random_weights({3, 30}, 10);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 30; ++j)
      for (std::int64_t r = 0; r < 3; ++r)
        wide.as<float>()[static_cast<std::size_t>(i * 30 + j)] += static_cast<float>(0.1 * at(a, i, r) * at(b, r, j));
  const KernelFactors low{random_weights({2, 8, 1, 1}, 11), random_weights({2, 2, 3, 3}, 12),
                          random_weights({8, 2, 1, 1}, 13)};
  const Graph graph =
      NetworkWriter({kBatch, 8, 4, 4})
          .constant("w0", composed(low))
          .weights("b0", {8})
          .weights("w1", {30, 128}, 0.1)
          .constant("w2", wide)
          .weights("b2", {40})
          .node("Conv", "c", {"x", "w0", "b0"},
                {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"strides", std::vector<std::int64_t>{1, 1}}})
          .node("Relu", "r", {"c"})
          .node("Flatten", "f", {"r"})
          .node("Gemm", "g1", {"f", "w1"}, {{"transB", std::int64_t{1}}})
          .node("Gemm", "y", {"g1", "w2", "b2"}, {{"transB", std::int64_t{1}}})
          .finish({"y"});
  Workplace workplace = glyph_workplace(graph, 64);
  const Network network = cooked("- low_rank: {keep: 0.35, epochs: 0}", {graph, {}}, workplace);
  EXPECT_LT(network.graph.parameter_elements(), graph.parameter_elements() / 2);
  EXPECT_TRUE(network.graph.has_value("c.core"));
  // g1 is not of low rank: put its weights back as they were, as a product of full rank would be
  const Network exact =
      cooked("- low_rank: {keep: 0.35, epochs: 0}",
             {graph.with_initializers({{"w1", Tensor(DType::f32, {30, 128})}}).value(), {}}, workplace);
  const Tensor x = random_input(graph, 2, 14);
  const auto expected = run(graph.with_initializers({{"w1", Tensor(DType::f32, {30, 128})}}).value(), x);
  const auto found = run(exact.graph, x);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
}

TEST(LowRank, AStepKeepsAtMostItsShareOfEachLayerAndTrainsOn) {
  const Graph graph = trained_perceptron();
  const Network network =
      cooked("- low_rank: {keep: 0.6, epochs: 4, learning_rate: 0.05}", {graph, {}}, glyph_workplace(graph, 4000));
  const auto elements = [&](const std::string& name) { return network.graph.value(name).shape.elements(); };
  EXPECT_LE(elements("fc1.weight.low") + elements("fc1.weight.high"), 64 * 784 * 6 / 10);
  EXPECT_GT(glyph_accuracy(network.graph), glyph_accuracy(graph) - 0.05);
}

TEST(LowRank, ANetworkThatCannotBecomeSmallerIsRefused) {
  const Graph graph = trained_perceptron();
  const Recipe recipe = parse_recipe("- low_rank: {keep: 0.001}\n", "recipe").value();
  RecipeProgress progress{"", 0, 0, {graph, {}}};
  const Status status =
      run_recipe(recipe, progress, glyph_workplace(graph, 64), [](const RecipeProgress&) { return Status(); });
  EXPECT_EQ(status.code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::compress
