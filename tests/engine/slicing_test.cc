// Steps run on one slice of the batch after another: the same results in less memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/slice_groups.h"

namespace mangrove {
namespace {

constexpr std::int64_t kImages = 16;

/// Two residual blocks, the second with fewer pixels and more channels, and a depthwise convolution, large enough that
/// slices pay.
Graph residual_network() {
  GraphSketch sketch(DType::f32);
  const std::map<std::string, Attribute> same{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const std::map<std::string, Attribute> half{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                                              {"strides", std::vector<std::int64_t>{2, 2}}};
  std::map<std::string, Attribute> depthwise = same;
  depthwise["group"] = std::int64_t{32};
  const auto conv = [&](const std::string& x, std::int64_t in, std::int64_t out, const std::string& name,
                        const std::map<std::string, Attribute>& attributes) {
    sketch.parameter(name + ".w", {out, in, 3, 3}, -0.1, 0.1).node("Conv", {x, name + ".w"}, name, attributes);
  };
  const auto norm = [&](const std::string& x, std::int64_t channels, const std::string& name) {
    sketch.parameter(name + ".s", {channels}, 0.5, 1.5).parameter(name + ".b", {channels});
    sketch.constant(name + ".m", Tensor(DType::f32, {channels})).constant(name + ".v", Tensor(DType::f32, {channels}));
    sketch.node("BatchNormalization", {x, name + ".s", name + ".b", name + ".m", name + ".v"}, name);
  };
  sketch.input("x", {kBatch, 3, 48, 48});
  conv("x", 3, 16, "c0", same);
  norm("c0", 16, "n0");
  sketch.node("Relu", {"n0"}, "r0");
  conv("r0", 16, 16, "c1", same);
  norm("c1", 16, "n1");
  sketch.node("Relu", {"n1"}, "r1");
  conv("r1", 16, 16, "c2", same);
  norm("c2", 16, "n2");
  sketch.node("Add", {"n2", "r0"}, "a2").node("Relu", {"a2"}, "r2");
  conv("r2", 16, 32, "c3", half);
  norm("c3", 32, "n3");
  sketch.node("Relu", {"n3"}, "r3");
  conv("r3", 1, 32, "c4", depthwise);
  norm("c4", 32, "n4");
  conv("r2", 16, 32, "c5", half);
  norm("c5", 32, "n5");
  sketch.node("Add", {"n4", "n5"}, "a5").node("Relu", {"a5"}, "r5");
  conv("r5", 32, 32, "c6", same);  // a residual and an activation right behind a convolution
  sketch.node("Add", {"c6", "r5"}, "a6").node("Relu", {"a6"}, "r6");
  return sketch.node("GlobalAveragePool", {"r6"}, "pool").node("Flatten", {"pool"}, "y").create({"y"});
}

std::unique_ptr<Execution> sliced_execution(const Graph& graph, const std::string& backend, bool slice,
                                            int threads = 1) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = kImages;
  options.backend = backend;
  options.input_gradients = true;
  options.threads = threads;
  options.slice = slice;
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(Execution::create(*program, threads)).value();
}

class Slicing : public ::testing::TestWithParam<std::string> {};

TEST_P(Slicing, StepEqualsPortable) {
  const Graph graph = residual_network();
  const auto reference = make_execution(graph, "portable", kImages);
  ASSERT_NE(reference, nullptr);
  const StepOutcome expected = run_step(*reference, 5);
  for (const int threads : {1, 2}) {
    for (const bool slice : {false, true}) {
      SCOPED_TRACE(std::to_string(threads) + " threads" + (slice ? ", sliced" : ""));
      const auto execution = sliced_execution(graph, GetParam(), slice, threads);
      const StepOutcome found = run_step(*execution, 5);
      expect_close(found, expected, 1e-4);
      const StepOutcome again = run_step(*execution, 5);
      EXPECT_EQ(again.gradients, found.gradients);
      EXPECT_EQ(execution->program().describe().find(" slices") != std::string::npos, slice);
      for (const char* state : {"n0.m", "n0.v", "n4.m", "n4.v"}) {  // after two steps of one and one of the other
        const Tensor running = execution->parameter(state), once = reference->parameter(state);
        for (std::size_t i = 0; i < once.as<float>().size(); ++i) {
          const float twice = 1.9f * once.as<float>()[i];  // they began with zero, and momentum is 0.9
          ASSERT_NEAR(running.as<float>()[i], twice, 1e-4f * (1 + std::abs(twice))) << state << " " << i;
        }
      }
    }
  }
}

TEST_P(Slicing, InferenceEqualsPortable) {
  const Graph graph = residual_network();
  const Tensor x = uniform_tensor(DType::f32, {kImages, 3, 48, 48}, 2);
  std::vector<std::unique_ptr<Execution>> executions;
  for (const std::string& backend : {std::string("portable"), GetParam()}) {
    const auto program = Program::compile(graph, {.batch = kImages, .backend = backend});
    ASSERT_TRUE(program.ok()) << program.error().message;
    executions.push_back(std::move(Execution::create(*program)).value());
    ASSERT_TRUE(executions.back()->set_input("x", x).ok());
    executions.back()->forward();
  }
  EXPECT_NE(executions[1]->program().describe().find(" slices"), std::string::npos);
  const auto expected = executions[0]->output<float>("y"), found = executions[1]->output<float>("y");
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
}

TEST_P(Slicing, IsProfiledByStep) {
  const auto execution = sliced_execution(residual_network(), GetParam(), true);
  const auto times = execution->profile_steps(2);
  EXPECT_EQ(times.size(), execution->program().forward_steps().size() + execution->program().backward_steps().size());
}

INSTANTIATE_TEST_SUITE_P(Backends, Slicing, ::testing::ValuesIn(fast_backends()),
                         [](const auto& test) { return test.param; });

// Steps over buffers of a table, for plan_slices.
class Steps {
 public:
  BufferId buffer(Bytes bytes) { return buffers_.add(bytes, BufferTable::Life::uses); }

  void add(const std::vector<std::pair<BufferId, bool>>& reads, const std::vector<std::pair<BufferId, bool>>& writes,
           bool can_slice = true) {
    Entry entry;
    if (can_slice) entry.step.slicing.emplace();
    for (const auto& [operands, access] :
         {std::pair{reads, Operand::Access::read}, std::pair{writes, Operand::Access::write}}) {
      for (const auto& [buffer, split] : operands) {
        entry.step.operands.push_back({.kind = Operand::Kind::value, .access = access, .name = ""});
        entry.buffers.push_back(buffer);
        if (can_slice) entry.step.slicing->split.push_back(split);
      }
    }
    entries_.push_back(std::move(entry));
  }
  SlicePlan plan(std::int64_t batch, int threads = 1) const {
    std::vector<SliceCandidate> candidates;
    for (const Entry& entry : entries_) candidates.push_back({&entry.step, &entry.buffers});
    return plan_slices(candidates, batch, threads, buffers_);
  }

 private:
  struct Entry {
    Step step;
    std::vector<BufferId> buffers;
  };
  std::vector<Entry> entries_;
  BufferTable buffers_;
};

constexpr Bytes kLarge = 4 << 20;
constexpr bool kSplit = true, kWhole = false;

TEST(SlicePlan, NeighboursAreOneGroup) {
  Steps steps;
  const BufferId a = steps.buffer(kLarge), b = steps.buffer(kLarge), c = steps.buffer(kLarge);
  steps.add({{a, kSplit}}, {{b, kSplit}});
  steps.add({{b, kSplit}}, {{c, kSplit}});
  const SlicePlan plan = steps.plan(32);
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].first, 0u);
  EXPECT_EQ(plan.groups[0].last, 2u);
  EXPECT_EQ(plan.groups[0].slices, 8);  // 12 MiB in slices of at most 2 MiB, of 32 images
  EXPECT_TRUE(steps.plan(7).groups[0].slices == 7);
  EXPECT_TRUE(steps.plan(1).groups.empty());
  EXPECT_TRUE(steps.plan(32, /*threads=*/4).groups.empty());  // fits their caches
}

TEST(SlicePlan, ThreadsHaveTheSameNumberOfImages) {
  Steps steps;
  const BufferId a = steps.buffer(16 * kLarge), b = steps.buffer(16 * kLarge);
  steps.add({{a, kSplit}}, {{b, kSplit}});
  steps.add({{b, kSplit}}, {{a, kSplit}});
  EXPECT_EQ(steps.plan(12, /*threads=*/2).groups[0].slices, 6);  // not 12: one image for two threads
  EXPECT_EQ(steps.plan(11, /*threads=*/2).groups[0].slices, 11);
}

TEST(SlicePlan, WhatReadsASumComesAfterTheGroup) {
  Steps steps;
  const BufferId a = steps.buffer(kLarge), b = steps.buffer(kLarge), sum = steps.buffer(64), c = steps.buffer(kLarge);
  steps.add({{a, kSplit}}, {{b, kSplit}});
  steps.add({{b, kSplit}}, {{sum, kWhole}});
  steps.add({{b, kSplit}, {sum, kWhole}}, {{c, kSplit}});
  const SlicePlan plan = steps.plan(8);
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].last, 2u);
}

TEST(SlicePlan, AnIndependentStepGoesAhead) {
  Steps steps;
  const BufferId a = steps.buffer(kLarge), b = steps.buffer(kLarge), c = steps.buffer(kLarge);
  const BufferId weights = steps.buffer(64), reordered = steps.buffer(64);
  steps.add({{a, kSplit}}, {{b, kSplit}});
  steps.add({{weights, kWhole}}, {{reordered, kWhole}}, /*can_slice=*/false);
  steps.add({{b, kSplit}, {reordered, kWhole}}, {{c, kSplit}});
  const SlicePlan plan = steps.plan(8);
  EXPECT_EQ(plan.order, (std::vector<std::size_t>{1, 0, 2}));
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].first, 1u);
  EXPECT_EQ(plan.groups[0].last, 3u);
}

TEST(SlicePlan, AStepThatReadsAResultEndsTheGroup) {
  Steps steps;
  const BufferId a = steps.buffer(kLarge), b = steps.buffer(kLarge), c = steps.buffer(kLarge), d = steps.buffer(kLarge);
  steps.add({{a, kSplit}}, {{b, kSplit}});
  steps.add({{b, kWhole}}, {{c, kWhole}}, /*can_slice=*/false);
  steps.add({{c, kSplit}}, {{d, kSplit}});
  EXPECT_TRUE(steps.plan(8).groups.empty());
}

TEST(SlicePlan, LargeWeightsAreNotReadTooOften) {
  Steps steps;
  const BufferId a = steps.buffer(kLarge), b = steps.buffer(kLarge), c = steps.buffer(kLarge);
  const BufferId weights = steps.buffer(3 * kLarge);
  steps.add({{a, kSplit}, {weights, kWhole}}, {{b, kSplit}});
  steps.add({{b, kSplit}}, {{c, kSplit}});
  ASSERT_EQ(steps.plan(32).groups.size(), 1u);
  EXPECT_EQ(steps.plan(32).groups[0].slices, 2);
}

}  // namespace
}  // namespace mangrove
