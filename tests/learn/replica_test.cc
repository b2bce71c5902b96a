#include "mangrove/learn/replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/learn/networks.h"

#include "mangrove/learn/metrics.h"

namespace mangrove::learn {
namespace {

std::unique_ptr<Replica> replica_of(const Graph& graph, const std::string& backend, std::int64_t batch,
                                    Mode mode = Mode::training) {
  auto replica = Replica::create(graph, {.batch = batch, .mode = mode, .backend = backend});
  MG_CHECK_MSG(replica.ok(), replica.ok() ? "" : replica.error().message);
  return std::move(replica).value();
}

std::vector<float> gradients(Replica& replica) {
  std::vector<float> flat(static_cast<std::size_t>(replica.parameter_elements()));
  replica.read_gradients(flat);
  return flat;
}

std::vector<float> parameters(Replica& replica) {
  std::vector<float> flat(static_cast<std::size_t>(replica.parameter_elements()));
  replica.read_parameters(flat);
  return flat;
}

class ReplicaOn : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, ReplicaOn, ::testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& test) { return test.param; });

/// Every third element of the gradient on 7 samples.
void expect_gradient_of_central_differences(Replica& replica) {
  const Patterns dataset(7);
  const data::Batch batch = batch_of(dataset, 0, 7, 7);
  constexpr float scale = 0.5f;
  replica.compute_gradients(batch, scale);
  const std::vector<float> gradient = gradients(replica);
  std::vector<float> flat = parameters(replica);
  const auto loss_at = [&](std::size_t i, float value) {
    const float kept = std::exchange(flat[i], value);
    replica.write_parameters(flat);
    flat[i] = kept;
    return replica.compute_gradients(batch, scale).loss;
  };
  float largest = 0;
  for (const float g : gradient) largest = std::max(largest, std::abs(g));
  EXPECT_GT(largest, 0.1f);
  constexpr float step = 1.0f / 128;
  for (std::size_t i = 0; i < flat.size(); i += 3) {
    const double difference = loss_at(i, flat[i] + step) - loss_at(i, flat[i] - step);
    EXPECT_NEAR(gradient[i], scale * difference / (2 * step), 1e-3 * largest) << i;
  }
}

TEST_P(ReplicaOn, GradientMatchesCentralDifferences) {
  expect_gradient_of_central_differences(*replica_of(small_network(), GetParam(), 7));
}

TEST_P(ReplicaOn, GradientOfExitsTogetherMatchesCentralDifferences) {
  const ReplicaOptions options{.batch = 7, .backend = GetParam(), .loss = {.exit_weights = {1, 0.3f}}};
  const auto replica = Replica::create(branchy_network(), options);
  ASSERT_TRUE(replica.ok()) << replica.error().message;
  expect_gradient_of_central_differences(**replica);
}

TEST_P(ReplicaOn, LossOfExitsIsTheirWeightedSum) {
  const Patterns dataset(12);
  const data::Batch batch = batch_of(dataset, 0, 12, 12);
  const auto stats_with = [&](std::vector<float> weights) {
    const ReplicaOptions options{.batch = 12, .backend = GetParam(), .loss = {.exit_weights = std::move(weights)}};
    return Replica::create(branchy_network(), options).value()->compute_gradients(batch, 1);
  };
  const BatchStats first = stats_with({1, 0}), last = stats_with({0, 1}), both = stats_with({2, 0.5f});
  const BatchStats plain = replica_of(small_network(), GetParam(), 12)->compute_gradients(batch, 1);
  EXPECT_NE(first.loss, last.loss);
  EXPECT_NEAR(last.loss, plain.loss, 1e-4);
  EXPECT_NEAR(both.loss, 2 * first.loss + 0.5 * last.loss, 1e-4);
  EXPECT_NEAR(stats_with({}).loss, first.loss + last.loss, 1e-4);
  EXPECT_EQ(both.correct, plain.correct);
  EXPECT_EQ(both.early_correct.size(), 1u);
  EXPECT_TRUE(plain.early_correct.empty());
}

TEST(Replica, RefusesExitWeightsThatDoNotFit) {
  const auto error_with = [](const Graph& graph, std::vector<float> weights) {
    const auto replica = Replica::create(graph, {.batch = 1, .loss = {.exit_weights = std::move(weights)}});
    return replica.ok() ? "" : replica.error().message;
  };
  EXPECT_EQ(error_with(branchy_network(), {1, 0.3f}), "");
  EXPECT_NE(error_with(branchy_network(), {1}).find("1 given, the network has 2"), std::string::npos);
  EXPECT_NE(error_with(small_network(), {1, 1}).find("2 given, the network has 1"), std::string::npos);
  EXPECT_NE(error_with(branchy_network(), {1, -1}).find("exit_weights"), std::string::npos);
  EXPECT_NE(error_with(branchy_network(), {0, 0}).find("exit_weights"), std::string::npos);
}

TEST_P(ReplicaOn, FlatParametersAreInTheOrderOfTheGraph) {
  const Graph graph = small_network();
  const auto replica = replica_of(graph, GetParam(), 2);
  EXPECT_EQ(parameters(*replica), flat_parameters(graph));
  std::vector<float> written(static_cast<std::size_t>(replica->parameter_elements()));
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<float>(i) + 0.25f;
  replica->write_parameters(written);
  EXPECT_EQ(parameters(*replica), written);
  EXPECT_EQ(replica->execution().parameter(graph.parameters()[0]).as<float>()[1], 1.25f);
}

TEST_P(ReplicaOn, PaddingRowsChangeNothing) {
  const Patterns dataset(3);
  const auto exact = replica_of(small_network(), GetParam(), 3), padded = replica_of(small_network(), GetParam(), 8);
  const BatchStats a = exact->compute_gradients(batch_of(dataset, 0, 3, 3), 1.0f / 3);
  const BatchStats b = padded->compute_gradients(batch_of(dataset, 0, 3, 8), 1.0f / 3);
  EXPECT_EQ(b.count, 3);
  EXPECT_EQ(a.correct, b.correct);
  EXPECT_NEAR(a.loss, b.loss, 1e-5);
  const std::vector<float> of_exact = gradients(*exact), of_padded = gradients(*padded);
  for (std::size_t i = 0; i < of_exact.size(); ++i) EXPECT_NEAR(of_exact[i], of_padded[i], 1e-5) << i;
  EXPECT_EQ(padded->predict(batch_of(dataset, 0, 3, 8)).size(), 3u);
}

TEST_P(ReplicaOn, RepeatedStepsGiveTheSameBits) {
  const Patterns dataset(16);
  const auto replica = replica_of(small_network(), GetParam(), 8);
  const data::Batch first = batch_of(dataset, 0, 8, 8), second = batch_of(dataset, 8, 8, 8);
  const double loss = replica->compute_gradients(first, 1).loss;
  const std::vector<float> gradient = gradients(*replica);
  replica->compute_gradients(second, 1);
  EXPECT_NE(gradients(*replica), gradient);
  EXPECT_EQ(replica->compute_gradients(first, 1).loss, loss);
  EXPECT_EQ(gradients(*replica), gradient);
}

TEST_P(ReplicaOn, PredictsTheSameInBothModes) {
  const Patterns dataset(32);
  const data::Batch batch = batch_of(dataset, 0, 32, 32);
  const auto training = replica_of(small_network(), GetParam(), 32);
  const auto inference = replica_of(small_network(), GetParam(), 32, Mode::inference);
  const auto reference = replica_of(small_network(), "portable", 32, Mode::inference);
  EXPECT_EQ(training->predict(batch), inference->predict(batch));
  EXPECT_EQ(inference->predict(batch), reference->predict(batch));
}

TEST_P(ReplicaOn, TrainedGraphHoldsTheParameters) {
  const auto replica = replica_of(small_network(), GetParam(), 4);
  std::vector<float> flat = parameters(*replica);
  for (float& x : flat) x *= -2;
  replica->write_parameters(flat);
  EXPECT_EQ(flat_parameters(replica->trained_graph()), flat);
  EXPECT_NE(flat_parameters(replica->graph()), flat);
}

TEST(FlatParameters, ReplaceThoseOfAGraph) {
  const Graph graph = small_network();
  std::vector<float> flat = flat_parameters(graph);
  ASSERT_EQ(static_cast<std::int64_t>(flat.size()), graph.parameter_elements());
  std::reverse(flat.begin(), flat.end());
  const auto replaced = with_flat_parameters(graph, flat);
  ASSERT_TRUE(replaced.ok()) << replaced.error().message;
  EXPECT_EQ(flat_parameters(*replaced), flat);
  flat.pop_back();
  EXPECT_EQ(with_flat_parameters(graph, flat).code(), Code::invalid_argument);
}

struct Misfit {
  const char* name;
  std::function<void(GraphParts&)> change;
  const char* mentioned;
};

TEST(Replica, RefusesGraphsThatAreNoClassifiers) {
  const Misfit misfits[] = {
      {"two outputs",
       [](GraphParts& parts) {
         parts.outputs = {"logits", "b"};
       },
       "2 outputs"},
      {"output of rank 4", [](GraphParts& parts) { parts.outputs = {"b"}; }, "[N, 5, 4, 4]"},
      {"fixed batch", [](GraphParts& parts) { parts.inputs[0].second.shape[0] = 3; }, "[3, 1, 6, 6]"},
      {"two inputs",
       [](GraphParts& parts) {
         parts.inputs.emplace_back("fc.b", ValueInfo{DType::f32, Shape{4}});
         parts.initializers.erase("fc.b");
       },
       "2 inputs"},
  };
  for (const auto& [name, change, mentioned] : misfits) {
    GraphParts parts = small_parts();
    change(parts);
    const auto graph = Graph::create(std::move(parts));
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.error().message;
    const auto replica = Replica::create(*graph, {});
    ASSERT_FALSE(replica.ok()) << name;
    EXPECT_EQ(replica.code(), Code::invalid_argument) << name;
    EXPECT_NE(replica.error().message.find(mentioned), std::string::npos) << replica.error().message;
  }
}

TEST(Replica, RefusesUnknownBackends) {
  EXPECT_EQ(Replica::create(small_network(), {.backend = "abacus"}).code(), Code::invalid_argument);
}

TEST(CheckFits, NamesWhatDiffers) {
  EXPECT_TRUE(check_fits(small_network(), Patterns(1)).ok());
  const Status status = check_fits(small_network(), Patterns(1, 3));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.error().message.find("3 classes"), std::string::npos) << status.error().message;
}

}  // namespace
}  // namespace mangrove::learn
