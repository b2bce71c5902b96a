// Every sample of every operator gives with each backend, in f32, what it gives with the portable one; and on several
// threads what it gives on one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/operator_samples.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

constexpr double kBackendSamplesTolerance = 2e-5;  // of the largest element

using Results = std::map<std::string, Tensor>;

/// Outputs, and gradients of inputs and parameters.
Results run_backend_sample(const OperatorSample& sample, const std::string& backend, std::int64_t batch = 3,
                           int threads = 1) {
  const Graph graph = sample_graph(sample, DType::f32);
  const auto execution = make_execution(graph, backend, batch, true, threads);
  for (const auto& [name, info] : graph.inputs()) {
    EXPECT_TRUE(execution->set_input(name, sample_input(sample, graph, name, batch, 5)).ok()) << name;
  }
  execution->forward();
  Results results;
  for (const std::string& name : graph.outputs()) {
    results[name] = execution->output_tensor(name);
    if (results[name].dtype() != DType::f32) continue;
    const Tensor weights = uniform_tensor(DType::f32, results[name].shape(), 7);
    std::ranges::copy(weights.as<float>(), execution->output_gradient<float>(name).begin());
  }
  if (!sample.differentiable || !find_operator(sample.op)->differentiable) return results;
  execution->backward();
  for (const std::string& name : graph.parameters()) results["gradient of " + name] = execution->gradient(name);
  for (const auto& [name, info] : graph.inputs()) {
    if (info.dtype == DType::f32) results["gradient of " + name] = execution->gradient(name);
  }
  return results;
}

void expect_same_outputs(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  ASSERT_EQ(found.shape(), expected.shape());
  if (found.dtype() != DType::f32) {
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.bytes())), 0);
    return;
  }
  double largest = 1;
  for (const float value : expected.as<float>()) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t i = 0; i < found.as<float>().size(); ++i) {
    ASSERT_NEAR(found.as<float>()[i], expected.as<float>()[i], kBackendSamplesTolerance * largest) << "element " << i;
  }
}

class EverySample : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySample, EqualsPortable) {
  for (const OperatorSample& sample : operator_samples()) {
    SCOPED_TRACE(sample.name);
    const Results found = run_backend_sample(sample, GetParam()), expected = run_backend_sample(sample, "portable");
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, value] : expected) {
      SCOPED_TRACE(name);
      expect_same_outputs(found.at(name), value);
    }
  }
}

class EverySampleOnThreads : public ::testing::TestWithParam<std::string> {};

// With so many samples that threads share most of it.
TEST_P(EverySampleOnThreads, GivesTheSameBits) {
  constexpr std::int64_t kSamples = 1000;
  for (const OperatorSample& sample : operator_samples()) {
    SCOPED_TRACE(sample.name);
    const Results found = run_backend_sample(sample, GetParam(), kSamples, 3),
                  expected = run_backend_sample(sample, GetParam(), kSamples, 1);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, value] : expected) {
      ASSERT_EQ(found.at(name).bytes(), value.bytes());
      EXPECT_EQ(std::memcmp(found.at(name).data(), value.data(), static_cast<std::size_t>(value.bytes())), 0) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EverySampleOnThreads, ::testing::Values("simd", "portable"),
                         [](const auto& test) { return test.param; });

std::vector<std::string> fast_backends() {
  std::vector<std::string> names(backend_names().begin(), backend_names().end());
  std::erase(names, "portable");
  return names;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EverySample);  // a build may have the portable backend only
INSTANTIATE_TEST_SUITE_P(Backends, EverySample, ::testing::ValuesIn(fast_backends()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
