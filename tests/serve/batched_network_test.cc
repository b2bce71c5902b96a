#include "mangrove/serve/batched_network.h"

#include <gtest/gtest.h>

#include "tests/graph/small_networks.h"
#include "tests/serve/served_networks.h"

namespace mangrove::serve {
namespace {

using Sizes = std::vector<std::int64_t>;

std::unique_ptr<BatchedNetwork> compiled(const Graph& graph, ModelOptions options) {
  options.backend = "portable";
  auto network = BatchedNetwork::create(graph, options);
  MG_CHECK_MSG(network.ok(), network.error().message);
  return std::move(*network);
}

TEST(BatchedNetwork, IsCompiledForPowersOfTwoAndTheLargestBatch) {
  EXPECT_EQ(compiled(small_graph(), {.max_batch = 12})->sizes(), (Sizes{1, 2, 4, 8, 12}));
  EXPECT_EQ(compiled(small_graph(), {.max_batch = 1})->sizes(), (Sizes{1}));
  EXPECT_EQ(compiled(identity(DType::f32, {2, 2}), {.max_batch = 12})->sizes(), (Sizes{1}));
}

TEST(BatchedNetwork, MuchWeightIsCompiledForTwoSizesOnly) {
  const auto network = compiled(dense(4100, 4200), {.max_batch = 8});
  EXPECT_EQ(network->sizes(), (Sizes{1, 8}));
  EXPECT_EQ(network->samples_at_once(1), 1);
  EXPECT_EQ(network->samples_at_once(3), 1);  // one after the other, not with five zeros
  EXPECT_EQ(network->samples_at_once(4), 4);
  EXPECT_EQ(network->samples_at_once(8), 8);
}

TEST(BatchedNetwork, InstancesShareTheWeights) {
  const Graph graph = dense(1000, 10);
  const Bytes one = compiled(graph, {.max_batch = 1})->memory();
  const Bytes two = compiled(graph, {.max_batch = 1, .instances = 2})->memory();
  EXPECT_GE(one, 40'000);
  EXPECT_LT(two - one, 20'000);
}

TEST(BatchedNetwork, BatchesAreSmallerWhereMemoryIsShort) {
  const Bytes one = compiled(small_graph(), {.max_batch = 1})->memory();
  EXPECT_EQ(compiled(small_graph(), {.max_batch = 16, .memory = one})->sizes(), (Sizes{1}));
  const auto four = compiled(small_graph(), {.max_batch = 4});
  const auto limited = compiled(small_graph(), {.max_batch = 16, .memory = four->memory()});
  EXPECT_LE(limited->memory(), four->memory());
  EXPECT_GT(limited->max_batch(), 1);
  EXPECT_LT(limited->max_batch(), 16);
}

TEST(BatchedNetwork, WhatDoesNotFitIntoTheMemoryIsRefusedWithWhatItNeeds) {
  const auto refused = BatchedNetwork::create(dense(1000, 10), {.backend = "portable", .memory = 10'000});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::resource_exhausted);
  EXPECT_EQ(refused.error().message,
            "a batch of 1 takes 40.0 kB for weights and 4.10 kB for activations; the limit is 10.0 kB");
}

}  // namespace
}  // namespace mangrove::serve
