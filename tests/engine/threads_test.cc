// Kernels that share their work among threads compute the same with any number of them, to the bit.
#include <gtest/gtest.h>

#include "tests/engine/backend_comparison.h"

#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

class AnyNumberOfThreads : public ::testing::TestWithParam<std::string> {};

struct ThreadsModel {
  const char* name;
  Shape sample_shape;
  std::int64_t batch = 3;
};

TEST_P(AnyNumberOfThreads, ComputesTheSame) {
  for (const auto& [name, sample_shape, batch] :
       {ThreadsModel{"lenet", {1, 28, 28}}, ThreadsModel{"mobilenetv2-0.5", {3, 64, 64}},
        ThreadsModel{"resnet-20", {3, 32, 32}}, ThreadsModel{"shufflenet-v1-g3", {3, 64, 64}},
        ThreadsModel{"lstm", {9, 5}, 70}, ThreadsModel{"gru", {9, 5}, 70}}) {
    SCOPED_TRACE(name);
    const auto graph = zoo::build_model(name, {.sample_shape = sample_shape, .classes = 10, .seed = 1});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto one = make_execution(*graph, GetParam(), batch),
               several = make_execution(*graph, GetParam(), batch, true, 3);
    ASSERT_TRUE(one && several);
    const StepOutcome expected = run_step(*one, 5), found = run_step(*several, 5);
    EXPECT_TRUE(found.outputs == expected.outputs);
    EXPECT_TRUE(found.gradients == expected.gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, AnyNumberOfThreads, ::testing::Values("simd", "portable"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
