#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "tests/graph/small_networks.h"
#include "tests/serve/answers.h"
#include "tests/serve/served_networks.h"

#include "mangrove/base/units.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::serve {
namespace {

constexpr Seconds kLong = 3600;

/// What each sample of whole_numbers() gives alone.
class Alone {
 public:
  Alone() : model_(load(whole_numbers(), {.max_batch = 1, .max_wait = 0})) {}
  Tensor result(std::int64_t samples, std::uint64_t seed) {
    const auto answer = ask(*model_, whole_number_request(samples, seed));
    MG_CHECK(answer.ok());
    return answer->outputs[0].tensor;
  }

 private:
  std::shared_ptr<EngineModel> model_;
};

void expect_alone(Alone& alone, const Result<InferenceResponse>& answer, std::int64_t samples, std::uint64_t seed) {
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  ASSERT_EQ(answer->outputs.size(), 1u);
  EXPECT_EQ(answer->outputs[0].name, "y");
  EXPECT_EQ(answer->version, "1");
  EXPECT_TRUE(same(answer->outputs[0].tensor, alone.result(samples, seed))) << "seed " << seed;
}

std::map<std::int64_t, std::uint64_t> executions_by_size(const ModelStatistics& statistics) {
  std::map<std::int64_t, std::uint64_t> executions;
  for (const auto& [size, batch] : statistics.batches) executions[size] = batch.compute_infer.count;
  return executions;
}
using BySize = std::map<std::int64_t, std::uint64_t>;

TEST(EngineModel, RequestsAreComputedTogetherAndAnsweredAsIfAlone) {
  const auto model = load(whole_numbers(), {.max_batch = 4, .max_wait = kLong});
  Alone alone;
  const Answers answers;
  for (const std::uint64_t seed : std::vector<std::uint64_t>{1, 2, 3, 4})
    model->infer(whole_number_request(1, seed), answers.sink(std::to_string(seed)));
  for (const std::uint64_t seed : std::vector<std::uint64_t>{1, 2, 3, 4})
    expect_alone(alone, answers.wait(std::to_string(seed)), 1, seed);
  EXPECT_EQ(executions_by_size(model->statistics()), (BySize{{4, 1}}));
}

/// The fastest kernels may round in another order for another size of batch.
TEST(EngineModel, TheFastestKernelsGiveNearlyTheSameInABatch) {
  const Graph graph = *zoo::build_model("lenet", {.sample_shape = {1, 28, 28}});
  const auto alone = *EngineModel::load(graph, "m", "1", {.max_batch = 1, .max_wait = 0});
  const auto model = *EngineModel::load(graph, "m", "1", {.max_batch = 5, .max_wait = kLong});
  const auto image = [](std::uint64_t seed) { return request_of({{"input", random_tensor({1, 1, 28, 28}, 1, seed)}}); };
  const Answers answers;
  for (const std::uint64_t seed : std::vector<std::uint64_t>{1, 2, 3, 4, 5})
    model->infer(image(seed), answers.sink(std::to_string(seed)));
  for (const std::uint64_t seed : std::vector<std::uint64_t>{1, 2, 3, 4, 5}) {
    const auto expected = ask(*alone, image(seed));
    const auto answer = answers.wait(std::to_string(seed));
    ASSERT_TRUE(expected.ok() && answer.ok());
    for (std::size_t i = 0; i < 10; ++i)
      EXPECT_NEAR(answer->outputs[0].tensor.as<float>()[i], expected->outputs[0].tensor.as<float>()[i], 1e-4);
  }
  EXPECT_EQ(model->statistics().executions, 1u);
}

TEST(EngineModel, RequestsOfUnlikeSizesFillBatches) {
  const auto model = load(whole_numbers(), {.max_batch = 4, .max_wait = 0});
  Alone alone;
  const Answers answers;
  Gate gate;
  model->infer(whole_number_request(1, 1), gate.sink());
  gate.wait_until_held();
  for (const std::uint64_t seed : std::vector<std::uint64_t>{2, 3, 4})
    model->infer(whole_number_request(3, seed), answers.sink(std::to_string(seed)));
  gate.open();
  for (const std::uint64_t seed : std::vector<std::uint64_t>{2, 3, 4})
    expect_alone(alone, answers.wait(std::to_string(seed)), 3, seed);
  EXPECT_EQ(executions_by_size(model->statistics()), (BySize{{1, 2}, {4, 2}}));
}

TEST(EngineModel, ARequestOfMoreSamplesThanABatchIsComputedInParts) {
  const auto model = load(whole_numbers(), {.max_batch = 4, .max_wait = 0});
  Alone alone;
  expect_alone(alone, ask(*model, whole_number_request(11, 7)), 11, 7);
  EXPECT_EQ(executions_by_size(model->statistics()), (BySize{{3, 1}, {4, 2}}));
  EXPECT_EQ(model->statistics().inferences, 11u);
  EXPECT_EQ(model->statistics().success.count, 1u);
}

TEST(EngineModel, ARequestWaitsNoLongerThanItMay) {
  const auto model = load(whole_numbers(), {.max_batch = 4, .max_wait = 0.001});
  EXPECT_TRUE(ask(*model, whole_number_request(1, 1)).ok());
}

TEST(EngineModel, ARequestWaitsNoLongerThanHalfItsTime) {
  const auto model = load(whole_numbers(), {.max_batch = 4, .max_wait = kLong});
  InferenceRequest request = whole_number_request(1, 1);
  request.deadline = SteadyClock().after(2);
  EXPECT_TRUE(ask(*model, std::move(request)).ok());
}

TEST(EngineModel, HigherPrioritiesAreAnsweredFirst) {
  const auto model = load(whole_numbers(), {.max_batch = 1, .max_wait = 0});
  const Answers answers;
  Gate gate;
  model->infer(whole_number_request(1, 1), gate.sink());
  gate.wait_until_held();
  const std::vector<std::pair<std::string, int>> asked{{"low", 0}, {"high", 2}, {"middle", 1}, {"high, later", 2}};
  for (const auto& [name, priority] : asked) {
    InferenceRequest request = whole_number_request(1, 1);
    request.priority = priority;
    model->infer(std::move(request), answers.sink(name));
  }
  gate.open();
  EXPECT_TRUE(answers.wait("low").ok());
  EXPECT_EQ(answers.order(), (std::vector<std::string>{"high", "high, later", "middle", "low"}));
}

TEST(EngineModel, AFullQueueRefuses) {
  const auto model = load(whole_numbers(), {.max_batch = 1, .max_wait = 0, .max_queue = 2});
  const Answers answers;
  Gate gate;
  model->infer(whole_number_request(1, 1), gate.sink());
  gate.wait_until_held();
  for (const char* name : {"first", "second", "third"}) model->infer(whole_number_request(1, 1), answers.sink(name));
  const auto third = answers.wait("third");
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.code(), Code::resource_exhausted);
  EXPECT_EQ(third.error().message, "model 'm': 2 requests wait, and max_queue allows no more; try again later");
  EXPECT_EQ(model->statistics().waiting, 2);
  EXPECT_EQ(model->statistics().refused, 1u);
  gate.open();
  EXPECT_TRUE(answers.wait("first").ok());
  EXPECT_TRUE(answers.wait("second").ok());
}

TEST(EngineModel, MemoryOfAnsweredRequestsIsFreeAgain) {
  const Bytes one = 52;  // 8 + 5 floats
  const auto model = load(whole_numbers(), {.max_batch = 1, .max_wait = 0, .queue_bytes = one});
  for (const std::uint64_t seed : std::vector<std::uint64_t>{1, 2, 3})
    EXPECT_TRUE(ask(*model, whole_number_request(1, seed)).ok());
  const auto refused = ask(*model, whole_number_request(2, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_EQ(refused.error().message,
            "model 'm': a request of 2 samples takes more than the 52 B that queue_bytes allows");
}

TEST(EngineModel, ARequestWhoseDeadlinePassesWhileItWaitsIsNotComputed) {
  const auto model = load(whole_numbers(), {.max_batch = 1, .max_wait = 0});
  const Answers answers;
  Gate gate;
  model->infer(whole_number_request(1, 1), gate.sink());
  gate.wait_until_held();
  SteadyClock clock;
  InferenceRequest request = whole_number_request(1, 1);
  request.deadline = clock.after(0.05);
  model->infer(request, answers.sink("late"));
  ASSERT_EQ(model->statistics().waiting, 1);
  clock.sleep_until(request.deadline);
  gate.open();
  const auto late = answers.wait("late");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.code(), Code::deadline_exceeded);
  EXPECT_EQ(late.error().message, "model 'm': the request's deadline passed before it was computed");
  EXPECT_EQ(model->statistics().executions, 1u);
  EXPECT_EQ(ask(*model, request).code(), Code::deadline_exceeded);
}

TEST(EngineModel, CountsAndTimesWhatItDoes) {
  const auto model = load(two_inputs(), {.max_batch = 4, .max_wait = 0});
  const Tensor pair(DType::f32, {2, 3});
  EXPECT_TRUE(ask(*model, request_of({{"a", pair}, {"b", pair}})).ok());
  EXPECT_FALSE(ask(*model, request_of({{"a", pair}})).ok());
  const ModelStatistics statistics = model->statistics();
  EXPECT_EQ(statistics.inferences, 2u);
  EXPECT_EQ(statistics.executions, 1u);
  EXPECT_EQ(statistics.success.count, 1u);
  EXPECT_EQ(statistics.fail.count, 1u);
  EXPECT_EQ(statistics.queue.count, 1u);
  EXPECT_EQ(statistics.compute_input.count, 1u);
  EXPECT_EQ(statistics.compute_infer.count, 1u);
  EXPECT_EQ(statistics.compute_output.count, 1u);
  EXPECT_GT(statistics.compute_infer.nanoseconds, 0u);
  EXPECT_GE(statistics.success.nanoseconds, statistics.queue.nanoseconds + statistics.compute_infer.nanoseconds);
  EXPECT_GT(statistics.last_inference, 1'700'000'000'000u);
  EXPECT_EQ(statistics.refused, 0u);
  EXPECT_EQ(executions_by_size(statistics), (BySize{{2, 1}}));
}

TEST(EngineModel, GivesTheOutputsThatAreWanted) {
  const auto model = load(two_inputs(), {.max_wait = 0});
  const Tensor a = Tensor::of<float>({1, 3}, {1, 2, 3}), b = Tensor::of<float>({1, 3}, {4, 5, 6});
  const auto all = ask(*model, request_of({{"b", b}, {"a", a}}));
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->outputs.size(), 2u);
  EXPECT_EQ(all->outputs[0].name, "sum");
  EXPECT_TRUE(same(all->outputs[0].tensor, Tensor::of<float>({1, 3}, {5, 7, 9})));
  EXPECT_TRUE(same(all->outputs[1].tensor, Tensor::of<float>({1, 3}, {4, 10, 18})));
  InferenceRequest request = request_of({{"a", a}, {"b", b}});
  request.outputs = {"product"};
  const auto one = ask(*model, std::move(request));
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->outputs.size(), 1u);
  EXPECT_EQ(one->outputs[0].name, "product");
}

TEST(EngineModel, ANetworkWithoutABatchAnswersOneByOne) {
  const auto model = load(identity(DType::f32, {2, 2}), {.max_wait = kLong});
  EXPECT_EQ(model->metadata().max_batch, 0);
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto answer = ask(*model, request_of({{"x", x}}));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_TRUE(same(answer->outputs[0].tensor, x));
  EXPECT_EQ(ask(*model, request_of({{"x", Tensor(DType::f32, {3, 2})}})).error().message,
            "model 'm': input 'x' is f32 [3, 2], expected f32 [2, 2]");
}

TEST(EngineModel, AMeanOfTheBatchIsNotTakenOverRequests) {
  const auto model = load(mean_of_batch(), {.max_wait = kLong});
  EXPECT_EQ(model->metadata().max_batch, 0);
  EXPECT_EQ(model->metadata().inputs[0].shape, (std::vector<std::int64_t>{1, 3}));
  const auto answer = ask(*model, request_of({{"x", Tensor::of<float>({1, 3}, {1, 2, 3})}}));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_TRUE(same(answer->outputs[0].tensor, Tensor::of<float>({3}, {1, 2, 3})));
}

TEST(EngineModel, RequestsWithAnInputForTheWholeBatchAreNotCombined) {
  const auto model = load(scaled(), {.max_batch = 4, .max_wait = kLong});
  const Answers answers;
  for (const float scale : {2.0f, 3.0f})
    model->infer(request_of({{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                             {"scale", Tensor::of<float>({3}, {scale, scale, scale})}}),
                 answers.sink(std::to_string(scale)));
  for (const float scale : {2.0f, 3.0f}) {
    const auto answer = answers.wait(std::to_string(scale));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->outputs[0].tensor.as<float>()[5], 6 * scale);
  }
  EXPECT_EQ(executions_by_size(model->statistics()), (BySize{{2, 2}}));
}

TEST(EngineModel, TheBatchMayBeAnyDimension) {
  const auto model = load(identity(DType::f32, {2, kBatch}), {.max_batch = 4, .max_wait = kLong});
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), y = Tensor::of<float>({2, 1}, {7, 8});
  const Answers answers;
  model->infer(request_of({{"x", x}}), answers.sink("x"));
  model->infer(request_of({{"x", y}}), answers.sink("y"));
  EXPECT_TRUE(same(answers.wait("x")->outputs[0].tensor, x));
  EXPECT_TRUE(same(answers.wait("y")->outputs[0].tensor, y));
  EXPECT_EQ(model->statistics().executions, 1u);
}

class EveryType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryType, GoesInAndOut) {
  const auto model = load(identity(GetParam(), {kBatch, 5}), {.max_batch = 4, .max_wait = 0});
  Tensor x(GetParam(), {3, 5});
  for (Bytes i = 0; i < x.bytes(); ++i) x.data()[i] = static_cast<std::byte>(i % 2);
  const auto answer = ask(*model, request_of({{"x", x}}));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_TRUE(same(answer->outputs[0].tensor, x));
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType,
                         ::testing::Values(DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::i8,
                                           DType::boolean),
                         [](const auto& one) { return dtype_name(one.param); });

TEST(EngineModel, ClosingAnswersThoseThatWait) {
  const auto model = load(whole_numbers(), {.max_batch = 4, .max_wait = kLong});
  const Answers answers;
  for (const char* name : {"first", "second"}) model->infer(whole_number_request(1, 1), answers.sink(name));
  model->close();
  EXPECT_TRUE(answers.has("first"));
  EXPECT_TRUE(answers.wait("second").ok());
  const auto refused = ask(*model, whole_number_request(1, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::unavailable);
  EXPECT_EQ(refused.error().message, "model 'm': it is being unloaded");
}

TEST(EngineModel, DestructionAnswersThoseThatWait) {
  const Answers answers;
  load(whole_numbers(), {.max_batch = 4, .max_wait = kLong})->infer(whole_number_request(1, 1), answers.sink("it"));
  EXPECT_TRUE(answers.has("it"));
}

TEST(EngineModel, InstancesComputeAtOnce) {
  const auto model = load(whole_numbers(), {.max_batch = 1, .max_wait = 0, .instances = 2});
  Alone alone;
  Gate first, second;
  model->infer(whole_number_request(1, 1), first.sink());
  model->infer(whole_number_request(1, 2), second.sink());
  first.wait_until_held();
  second.wait_until_held();
  first.open();
  expect_alone(alone, ask(*model, whole_number_request(1, 3)), 1, 3);
}

TEST(EngineModel, ManyThreadsGetTheirOwnAnswers) {
  const auto model = load(whole_numbers(), {.max_batch = 8, .max_wait = 0.0005, .instances = 2});
  std::vector<Tensor> expected;
  Alone alone;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    expected.push_back(alone.result(static_cast<std::int64_t>(seed % 11) + 1, seed));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> clients;
    for (std::uint64_t client = 0; client < 6; ++client) {
      clients.emplace_back([&, client] {
        for (std::uint64_t i = 0; i < 40; ++i) {
          const std::uint64_t seed = (client * 5 + i) % 12;
          const auto answer = ask(*model, whole_number_request(static_cast<std::int64_t>(seed % 11) + 1, seed));
          if (!answer.ok() || !same(answer->outputs[0].tensor, expected[seed])) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(model->statistics().success.count, 240u);
}

}  // namespace
}  // namespace mangrove::serve
