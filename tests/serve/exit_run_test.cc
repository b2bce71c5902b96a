// A network with early exits that is asked for the answer of each exit.
#include "mangrove/serve/exit_run.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/serve/served_networks.h"

#include "mangrove/graph/exits.h"

namespace mangrove::serve {
namespace {

/// x [N, 2] -> three exits [N, 2], each ten times as sure as the one before: x, 10 x and 100 x.
Graph surer_and_surer(const std::string& thresholds = "") {
  GraphParts parts;
  parts.name = "surer";
  parts.inputs = {{"x", {DType::f32, {kBatch, 2}}}};
  parts.outputs = {"exit1", "exit2", "logits"};
  const Tensor one = Tensor::of<float>({2, 2}, {1, 0, 0, 1}), ten = Tensor::of<float>({2, 2}, {10, 0, 0, 10});
  parts.nodes = {{"a", "MatMul", {}, {"x", "one1"}, {"h1"}},
                 {"exit1", "MatMul", {}, {"h1", "one2"}, {"exit1"}},
                 {"b", "MatMul", {}, {"h1", "ten1"}, {"h2"}},
                 {"exit2", "MatMul", {}, {"h2", "one3"}, {"exit2"}},
                 {"c", "MatMul", {}, {"h2", "ten2"}, {"logits"}}};
  parts.initializers = {{"one1", one}, {"one2", one}, {"one3", one}, {"ten1", ten}, {"ten2", ten}};
  if (!thresholds.empty()) parts.metadata = {{kExitThresholdsKey, thresholds}};
  return Graph::create(std::move(parts)).value();
}

InferenceRequest sample_of_two(float first, float second) {
  return request_of({{"x", Tensor::of<float>({1, 2}, {first, second})}});
}

/// All answers of a run, up to the last.
std::vector<ExitAnswer> answers_of(ExitRun& run) {
  std::vector<ExitAnswer> answers;
  do {
    Result<ExitAnswer> next = run.next();
    EXPECT_TRUE(next.ok()) << next.error().message;
    if (!next.ok()) break;
    answers.push_back(std::move(*next));
  } while (!answers.back().is_last);
  return answers;
}

TEST(ExitRun, SaysAtEachExitWhatTheWholeNetworkSays) {
  const auto model = load(surer_and_surer());
  InferenceRequest request = sample_of_two(0.25F, -0.5F);
  const auto whole = ask(*model, request);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  auto run = model->begin_exits(request, "");
  ASSERT_TRUE(run.ok()) << run.error().message;
  const std::vector<ExitAnswer> answers = answers_of(**run);
  ASSERT_EQ(answers.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answers[i].exit, i + 1);
    EXPECT_EQ(answers[i].is_last, i == 2);
    EXPECT_EQ(answers[i].response.version, "1");
    EXPECT_EQ(answers[i].response.outputs[0].name, whole->outputs[i].name);
    EXPECT_TRUE(same(answers[i].response.outputs[0].tensor, whole->outputs[i].tensor)) << i;
    if (i > 0) {
      EXPECT_LT(answers[i].entropy, answers[i - 1].entropy);
    }
  }
  const ModelStatistics counted = model->statistics();
  EXPECT_EQ(counted.success.count, 2u) << "the run too";
  EXPECT_EQ(counted.inferences, 2u);
}

TEST(ExitRun, ASampleLeavesWhereTheNetworksThresholdSaysSo) {
  const auto model = load(surer_and_surer("0.01,0.3"));
  const auto count = [&](float first, float second, const std::string& thresholds) {
    auto run = model->begin_exits(sample_of_two(first, second), thresholds);
    return run.ok() ? answers_of(**run).size() : 0;
  };
  EXPECT_EQ(count(1, -1, ""), 2u) << "exits behind the second one are not computed";
  EXPECT_EQ(count(10, -10, ""), 1u);
  EXPECT_EQ(count(0, 0, ""), 3u) << "it is never sure";
  EXPECT_EQ(count(10, -10, "none"), 3u);
  EXPECT_EQ(count(0, 0, "1,1"), 1u);
  const auto wrong = model->begin_exits(sample_of_two(0, 0), "0.5");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.code(), Code::invalid_argument);
  EXPECT_NE(wrong.error().message.find("exit_thresholds"), std::string::npos) << wrong.error().message;
}

TEST(ExitRun, RunsOfSeveralSamplesDoNotMix) {
  const auto model = load(surer_and_surer());
  auto one = model->begin_exits(sample_of_two(1, 2), "none").value();
  auto other = model->begin_exits(sample_of_two(3, 4), "none").value();
  for (const float factor : {1.0F, 10.0F, 100.0F}) {
    const ExitAnswer first = one->next().value(), second = other->next().value();
    EXPECT_TRUE(same(first.response.outputs[0].tensor, Tensor::of<float>({1, 2}, {factor, 2 * factor})));
    EXPECT_TRUE(same(second.response.outputs[0].tensor, Tensor::of<float>({1, 2}, {3 * factor, 4 * factor})));
  }
}

TEST(ExitRun, IsRefusedWhereItMakesNoSense) {
  const auto whole = load(whole_numbers());
  const auto without = whole->begin_exits(whole_number_request(1, 1), "");
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.code(), Code::unimplemented);
  EXPECT_NE(without.error().message.find("no early exits"), std::string::npos) << without.error().message;
  const auto model = load(surer_and_surer());
  EXPECT_EQ(model->begin_exits(request_of({{"x", Tensor(DType::f32, Shape{2, 2})}}), "").code(), Code::invalid_argument)
      << "two samples";
  EXPECT_EQ(model->begin_exits(request_of({{"y", Tensor(DType::f32, Shape{1, 2})}}), "").code(),
            Code::invalid_argument);
  model->close();
  EXPECT_EQ(model->begin_exits(sample_of_two(0, 0), "").code(), Code::unavailable);
  const Bytes batches = load(surer_and_surer(), {.max_batch = 1})->memory();
  const auto small = load(surer_and_surer(), {.max_batch = 1, .memory = batches + 50});
  const auto too_much = small->begin_exits(sample_of_two(0, 0), "");
  ASSERT_FALSE(too_much.ok());
  EXPECT_EQ(too_much.code(), Code::unimplemented);
  EXPECT_NE(too_much.error().message.find("the limit is"), std::string::npos) << too_much.error().message;
}

}  // namespace
}  // namespace mangrove::serve
