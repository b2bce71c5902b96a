#include "mangrove/engine/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "tests/engine/gradient_check.h"
#include "tests/engine/reversed_backend.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/program_builder.h"

namespace mangrove {
namespace {

std::vector<std::string> all_backends() {
  return {backend_names().begin(), backend_names().end()};
}

std::shared_ptr<const Program> compile(const Graph& graph, const CompileOptions& options) {
  auto program = Program::compile(graph, options);
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

std::unique_ptr<Execution> execute(std::shared_ptr<const Program> program) {
  auto execution = Execution::create(std::move(program));
  EXPECT_TRUE(execution.ok()) << execution.error().message;
  return std::move(execution).value();
}

CompileOptions training(const std::string& backend, std::int64_t batch) {
  CompileOptions options;
  options.mode = Mode::training;
  options.backend = backend;
  options.batch = batch;
  return options;
}

// One step on inputs and output gradients of this seed: outputs and parameter gradients, plain.
std::map<std::string, Tensor> run_training_step(Execution& execution, std::uint64_t seed) {
  const Graph& graph = execution.program().graph();
  for (const auto& [name, info] : graph.inputs()) {
    const Tensor value = uniform_tensor(info.dtype, execution.program().placed_values().at(name).info.shape, seed++);
    EXPECT_TRUE(execution.set_input(name, value).ok());
  }
  execution.forward();
  std::map<std::string, Tensor> results;
  for (const std::string& name : graph.outputs()) {
    results[name] = execution.output_tensor(name);
    if (execution.program().options().mode != Mode::training) continue;
    const Tensor gradient = uniform_tensor(DType::f32, results[name].shape(), seed++);
    std::copy_n(gradient.as<float>().begin(), gradient.elements(), execution.output_gradient<float>(name).begin());
  }
  if (execution.program().options().mode != Mode::training) return results;
  execution.backward();
  for (const std::string& name : graph.parameters()) results["d" + name] = execution.gradient(name);
  return results;
}

void expect_equal(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    const auto x = tensor.as<float>(), y = b.at(name).as<float>();
    ASSERT_EQ(x.size(), y.size()) << name;
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << name << " element " << i;
  }
}

class ProgramOnEveryBackend : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, ProgramOnEveryBackend, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param; });

TEST_P(ProgramOnEveryBackend, TwoRunsAreBitEqual) {
  for (const Graph& graph : {tiny_lenet(DType::f32), branching_graph(DType::f32)}) {
    const auto program = compile(graph, training(GetParam(), 5));
    const auto one = execute(program), other = execute(program);
    const auto first = run_training_step(*one, 3);
    run_training_step(*other, 8);  // nothing of an earlier run is left in the buffers
    expect_equal(first, run_training_step(*other, 3), 0);
    expect_equal(first, run_training_step(*one, 3), 0);
  }
}

TEST_P(ProgramOnEveryBackend, BackwardAgainDoesNotAddUp) {
  const auto execution = execute(compile(branching_graph(DType::f32), training(GetParam(), 2)));
  run_training_step(*execution, 1);
  const Tensor first = execution->gradient("shared.w");
  execution->forward();
  execution->backward();
  expect_equal({{"dw", first}}, {{"dw", execution->gradient("shared.w")}}, 0);
}

TEST_P(ProgramOnEveryBackend, FusingChangesNoResult) {
  for (const Graph& graph : {tiny_lenet(DType::f32), branching_graph(DType::f32)}) {
    CompileOptions options = training(GetParam(), 4);
    const auto fused = execute(compile(graph, options));
    options.fuse = false;
    const auto separate = execute(compile(graph, options));
    expect_equal(run_training_step(*fused, 3), run_training_step(*separate, 3), 1e-4);
  }
}

TEST_P(ProgramOnEveryBackend, EachSampleIsIndependentOfItsBatch) {
  const auto whole = execute(compile(tiny_lenet(DType::f32), {.batch = 7, .backend = GetParam()}));
  const auto single = execute(compile(tiny_lenet(DType::f32), {.batch = 1, .backend = GetParam()}));
  const Tensor images = uniform_tensor(DType::f32, {7, 1, 14, 14}, 1);
  ASSERT_TRUE(whole->set_input("x", images).ok());
  whole->forward();
  for (std::size_t n = 0; n < 7; ++n) {
    const auto image = images.as<float>().subspan(n * 196, 196);
    std::copy(image.begin(), image.end(), single->input<float>("x").begin());
    single->forward();
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(single->output<float>("y")[k], whole->output<float>("y")[n * 3 + k], 1e-5) << "sample " << n;
    }
  }
}

TEST_P(ProgramOnEveryBackend, TrainingAndInferenceComputeTheSame) {
  for (const Graph& graph : {tiny_lenet(DType::f32), branching_graph(DType::f32)}) {
    const auto trained = execute(compile(graph, training(GetParam(), 3)));
    const auto served = execute(compile(graph, {.batch = 3, .backend = GetParam()}));
    const auto expected = run_training_step(*trained, 2), found = run_training_step(*served, 2);
    for (const auto& [name, tensor] : found) expect_equal({{name, tensor}}, {{name, expected.at(name)}}, 1e-5);
  }
}

TEST_P(ProgramOnEveryBackend, EveryBufferLiesInsideItsRegion) {
  for (const Mode mode : {Mode::inference, Mode::training}) {
    CompileOptions options = training(GetParam(), 3);
    options.mode = mode;
    const auto program = compile(tiny_lenet(DType::f32), options);
    for (const auto* steps : {&program->forward_steps(), &program->backward_steps()}) {
      for (const Program::PlacedStep& placed : *steps) {
        ASSERT_EQ(placed.buffers.size(), placed.step.operands.size());
        for (std::size_t k = 0; k < placed.buffers.size(); ++k) {
          const BufferRef& place = placed.buffers[k];
          const Operand& operand = placed.step.operands[k];
          const Bytes bytes = operand.layout ? operand.layout->bytes() : operand.saved_bytes;
          const bool in_arena = place.region == BufferRef::Region::arena;
          EXPECT_EQ(place.offset % 64, 0);
          EXPECT_LE(place.offset + bytes, in_arena ? program->arena_bytes() : program->parameter_bytes());
        }
        EXPECT_LE(placed.workspace.offset + placed.step.workspace, program->arena_bytes());
      }
    }
  }
}

TEST_P(ProgramOnEveryBackend, TheArenaIsSmallerThanAllActivations) {
  const MemoryReport inference = compile(tiny_lenet(DType::f32), {.batch = 8, .backend = GetParam()})->memory();
  const MemoryReport trained = compile(tiny_lenet(DType::f32), training(GetParam(), 8))->memory();
  EXPECT_LT(inference.arena, inference.activations);
  EXPECT_LT(trained.arena, trained.activations);
  EXPECT_LT(inference.arena, trained.arena);
  EXPECT_LT(inference.parameters, trained.parameters);
}

TEST_P(ProgramOnEveryBackend, ParametersComeBackAsTheyWereSet) {
  const auto execution = execute(compile(tiny_lenet(DType::f32), training(GetParam(), 2)));
  const Graph& graph = execution->program().graph();
  for (const std::string& name : graph.parameters()) {
    expect_equal({{name, execution->parameter(name)}}, {{name, graph.initializers().at(name)}}, 0);
    const Tensor value = uniform_tensor(DType::f32, graph.value(name).shape, 77);
    ASSERT_TRUE(execution->set_parameter(name, value).ok());
    expect_equal({{name, execution->parameter(name)}}, {{name, value}}, 0);
  }
}

TEST_P(ProgramOnEveryBackend, ViewsAreTheParametersInGraphOrder) {
  const auto execution = execute(compile(tiny_lenet(DType::f32), training(GetParam(), 2)));
  run_training_step(*execution, 1);
  const auto views = execution->parameters();
  const std::vector<std::string> names = execution->program().graph().parameters();
  ASSERT_EQ(views.size(), names.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(views[i].name, names[i]);
    ASSERT_EQ(views[i].value.size(), views[i].gradient.size());
    const Tensor expected = execution->gradient(names[i]);
    Tensor plain(DType::f32, expected.shape());
    execution->to_plain(names[i], views[i].gradient, plain.as<float>());
    expect_equal({{names[i], plain}}, {{names[i], expected}}, 0);
    std::vector<float> again(views[i].gradient.size(), 0);
    execution->from_plain(names[i], plain.as<float>(), again);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), views[i].gradient.begin())) << names[i];
  }
}

TEST_P(ProgramOnEveryBackend, ProfilesEveryNode) {
  const auto execution = execute(compile(tiny_lenet(DType::f32), {.batch = 4, .backend = GetParam()}));
  const auto times = execution->profile_forward(3);
  const auto& nodes = execution->program().graph().nodes();
  ASSERT_EQ(times.size(), nodes.size());
  Seconds total = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(times[i].node, nodes[i].name);
    EXPECT_GE(times[i].seconds, 0);
    total += times[i].seconds;
  }
  EXPECT_GT(total, 0);
}

TEST_P(ProgramOnEveryBackend, ProfilesEveryStep) {
  const auto execution = execute(compile(tiny_lenet(DType::f32), training(GetParam(), 4)));
  const auto times = execution->profile_steps(3);
  const auto &forward = execution->program().forward_steps(), &backward = execution->program().backward_steps();
  ASSERT_EQ(times.size(), forward.size() + backward.size());
  EXPECT_EQ(times.front().step, forward.front().step.name);
  EXPECT_EQ(times.back().step, backward.back().step.name);
  EXPECT_TRUE(std::ranges::all_of(times, [](const StepTime& time) { return time.seconds >= 0; }));
}

TEST_P(ProgramOnEveryBackend, ExecutionsOfOneProgramRunAtOnce) {
  const auto program = compile(tiny_lenet(DType::f32), training(GetParam(), 3));
  constexpr std::size_t kThreads = 3;
  std::vector<std::map<std::string, Tensor>> found(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { found[i] = run_training_step(*execute(program), i); });
    }
  }
  for (std::size_t i = 0; i < kThreads; ++i) expect_equal(found[i], run_training_step(*execute(program), i), 0);
}

std::shared_ptr<const Program> compile_reversed(const Graph& graph, std::int64_t batch) {
  CompileOptions options = training("reversed", batch);
  options.input_gradients = true;
  auto program = ProgramBuilder(graph, options, make_reversed_backend()).build();
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

TEST(Program, ReordersWhereABackendMeetsPortableKernels) {
  for (const auto& make : {&tiny_lenet, &branching_graph}) {
    const auto program = compile_reversed(make(DType::f64), 2);
    const std::string trace = program->describe();
    EXPECT_NE(trace.find("reorder"), std::string::npos) << trace;
    EXPECT_NE(trace.find("is portable: reversed has no kernel"), std::string::npos) << trace;
    const auto execution = execute(program);
    EXPECT_LT(gradient_error(*execution, 1), 1e-6);
  }
}

TEST(Program, NeighboursInOneLayoutNeedNoReorder) {
  const Graph graph = GraphSketch(DType::f64)
                          .input("x", {3, 5})
                          .parameter("p", {3, 5})
                          .node("Tanh", {"x"}, "a")
                          .node("Sigmoid", {"a"}, "b")
                          .node("Add", {"b", "p"}, "c")
                          .node("Tanh", {"c"}, "y")
                          .create({"y"});
  const auto program = compile_reversed(graph, 3);
  EXPECT_EQ(program->forward_steps().size(), 6u) << program->describe();  // 4 nodes, x in and y out
  EXPECT_TRUE(program->placed_values().at("p").layout);
  EXPECT_FALSE(program->placed_values().at("y").layout);
  const auto execution = execute(program);
  EXPECT_LT(gradient_error(*execution, 1), 1e-6);
}

TEST(Program, AnOperandThatDiesIsOverwritten) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 64})
                          .node("Relu", {"x"}, "a")
                          .node("Tanh", {"a"}, "b")
                          .node("Sigmoid", {"b"}, "c")
                          .node("Relu", {"c"}, "y")
                          .create({"y"});
  const auto program = compile(graph, {.batch = 4, .backend = "portable"});
  EXPECT_EQ(program->memory().arena, 2 * 4 * 64 * 4) << program->describe();  // x and y only
  const auto execution = execute(program);
  const Tensor x = uniform_tensor(DType::f32, {4, 64}, 1);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(execution->set_input("x", x).ok());
    execution->forward();
    const auto input = execution->input<float>("x");
    EXPECT_TRUE(std::equal(input.begin(), input.end(), x.as<float>().begin()));
    for (std::size_t i = 0; i < input.size(); ++i) {
      const float expected = 1 / (1 + std::exp(-std::tanh(std::max(input[i], 0.0f))));
      EXPECT_NEAR(execution->output<float>("y")[i], expected, 1e-6);
    }
  }
}

TEST(Program, AFlattenedValueIsNotCopied) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 4, 16})
                          .parameter("p", {64})
                          .node("Flatten", {"x"}, "flat")
                          .node("Add", {"flat", "p"}, "sum")
                          .node("Relu", {"flat"}, "r")
                          .node("Add", {"sum", "r"}, "y")
                          .create({"y"});
  const auto program = compile(graph, {.batch = 4, .backend = "portable"});
  EXPECT_EQ(program->memory().arena, 3 * 4 * 64 * 4) << program->describe();  // x, r, and sum with y
  const auto execution = execute(program);
  const Tensor x = uniform_tensor(DType::f32, {4, 4, 16}, 1);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(execution->set_input("x", x).ok());
    execution->forward();
    const auto input = execution->input<float>("x");
    EXPECT_TRUE(std::equal(input.begin(), input.end(), x.as<float>().begin()));
    const Tensor p = execution->parameter("p");
    for (std::size_t i = 0; i < input.size(); ++i) {
      const float expected = input[i] + p.as<float>()[i % 64] + std::max(input[i], 0.0f);
      EXPECT_NEAR(execution->output<float>("y")[i], expected, 1e-6);
    }
  }
}

TEST(Program, ValuesThatOnlyForwardNeedsShareMemoryWithBackward) {
  const MemoryReport memory = compile(tiny_lenet(DType::f32), training("portable", 16))->memory();
  EXPECT_LT(memory.arena, memory.activations * 3 / 4);
}

TEST(Program, RefusesWhatCannotBeCompiled) {
  const Graph graph = tiny_lenet(DType::f32);
  struct Case {
    std::int64_t batch;
    const char* backend;
    int threads;
    const char* named;
  };
  for (const Case& c : {Case{0, "", 1, "batch is 0"}, Case{-3, "portable", 1, "batch is -3"},
                        Case{1, "onednm", 1, "unknown backend 'onednm'"}, Case{1, "", 0, "threads is 0"}}) {
    CompileOptions options;
    options.batch = c.batch;
    options.backend = c.backend;
    options.threads = c.threads;
    const auto program = Program::compile(graph, options);
    ASSERT_FALSE(program.ok()) << c.named;
    EXPECT_EQ(program.code(), Code::invalid_argument);
    EXPECT_NE(program.error().message.find(c.named), std::string::npos) << program.error().message;
  }
}

TEST(Program, RefusesYearsOfWorkBeforeItBegins) {
  const Graph graph = tiny_lenet(DType::f32);
  CompileOptions options;
  options.batch = 2'000'000'000;
  const auto program = Program::compile(graph, options);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.code(), Code::resource_exhausted);
  EXPECT_NE(program.error().message.find("operations for a batch of 2000000000"), std::string::npos)
      << program.error().message;
  EXPECT_NE(program.error().message.find("MANGROVE_MAX_OPERATIONS"), std::string::npos);
}

TEST(Program, TheUserChoosesHowMuchWorkIsTooMuch) {
  const Graph graph = tiny_lenet(DType::f32);
  ::setenv("MANGROVE_MAX_OPERATIONS", "1000", 1);  // NOLINT(concurrency-mt-unsafe): no other thread reads it
  const auto few = Program::compile(graph, {});
  ::setenv("MANGROVE_MAX_OPERATIONS", "1e6", 1);  // NOLINT(concurrency-mt-unsafe): no other thread reads it
  const auto enough = Program::compile(graph, {});
  ::unsetenv("MANGROVE_MAX_OPERATIONS");  // NOLINT(concurrency-mt-unsafe): no other thread reads it
  EXPECT_EQ(few.code(), Code::resource_exhausted);
  EXPECT_TRUE(enough.ok());
}

TEST(Execution, RefusesMoreMemoryThanThereIs) {
  const Graph graph = GraphSketch(DType::f32).input("x", {kBatch, 1'000}).node("Relu", {"x"}, "y").create({"y"});
  CompileOptions options;
  options.batch = 1'000'000'000;  // 8 TB
  options.backend = "portable";
  const auto program = Program::compile(graph, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto execution = Execution::create(*program);
  ASSERT_FALSE(execution.ok());
  EXPECT_EQ(execution.code(), Code::resource_exhausted);
  EXPECT_NE(execution.error().message.find("needs "), std::string::npos) << execution.error().message;
  EXPECT_NE(execution.error().message.find("this process may use "), std::string::npos) << execution.error().message;
}

TEST(Program, RefusesAnInitializerAsOutput) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 4})
                          .parameter("p", {4})
                          .node("Add", {"x", "p"}, "y")
                          .create({"y", "p"});
  const auto program = Program::compile(graph, {});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.code(), Code::unimplemented);
}

TEST(Program, AnInputThatIsAnOutputPassesThrough) {
  const Graph graph = GraphSketch(DType::f32).input("x", {kBatch, 3}).node("Relu", {"x"}, "y").create({"x", "y"});
  const auto execution = execute(compile(graph, training("", 2)));
  const Tensor x = uniform_tensor(DType::f32, {2, 3}, 1);
  ASSERT_TRUE(execution->set_input("x", x).ok());
  execution->forward();
  expect_equal({{"x", execution->output_tensor("x")}}, {{"x", x}}, 0);
  CompileOptions options = training("", 2);
  options.input_gradients = true;
  EXPECT_EQ(Program::compile(graph, options).code(), Code::unimplemented);
}

TEST(Program, DescribesStepsChoicesAndMemory) {
  const std::string trace = compile(tiny_lenet(DType::f64), training("", 2))->describe();
  for (const std::string part : {"training, batch 2", "memory: parameters", "forward: 10 steps", "conv1 forward",
                                 "x, conv1.w, conv1.b -> conv1", "backward:", "dconv2.w", "saved maxima"}) {
    EXPECT_NE(trace.find(part), std::string::npos) << part << " in\n" << trace;
  }
}

TEST(Program, ComputesWithValuesWithoutElements) {
  const auto axes = [](const std::vector<std::int64_t>& values) {
    return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
  };
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {kBatch, 3, 4})
                          .parameter("b", {4})
                          .constant("start", axes({0}))
                          .constant("end", axes({0}))
                          .constant("axis", axes({1}))
                          .node("Slice", {"x", "start", "end", "axis"}, "none")
                          .node("Add", {"none", "b"}, "sum")
                          .node("ReduceMean", {"sum"}, "y", {{"axes", std::vector<std::int64_t>{2}}})
                          .create({"y"});
  for (const std::string& backend : all_backends()) {
    SCOPED_TRACE(backend);
    const auto execution = execute(compile(graph, training(backend, 2)));
    const auto results = run_training_step(*execution, 3);
    EXPECT_EQ(results.at("y").shape(), Shape({2, 0, 1}));
    for (const float of_nothing : results.at("db").as<float>()) EXPECT_EQ(of_nothing, 0);
  }
}

// Some exporters write them, and no kernel reads them.
TEST(Program, TakesFastRecurrentKernelsWhereLengthsAreGiven) {
  const Graph graph = GraphSketch(DType::f32)
                          .input("x", {5, kBatch, 3})
                          .parameter("w", {1, 16, 3})
                          .parameter("r", {1, 16, 4})
                          .constant("lengths", Tensor::of<std::int32_t>(Shape{2}, {5, 5}))
                          .node("LSTM", {"x", "w", "r", "", "lengths"}, "y", {{"hidden_size", std::int64_t{4}}})
                          .create({"y"});
  for (const std::string backend : {"onednn", "simd"}) {
    if (std::ranges::find(backend_names(), backend) == backend_names().end()) continue;  // not of this build
    const std::string trace = compile(graph, training(backend, 2))->describe();
    EXPECT_EQ(trace.find("is portable"), std::string::npos) << trace;
  }
}

TEST(Execution, RefusesValuesOfAnotherShapeTypeOrName) {
  const auto execution = execute(compile(tiny_lenet(DType::f32), {.batch = 2}));
  EXPECT_EQ(execution->set_input("x", Tensor(DType::f32, {1, 1, 14, 14})).code(), Code::invalid_argument);
  EXPECT_EQ(execution->set_input("x", Tensor(DType::f64, {2, 1, 14, 14})).code(), Code::invalid_argument);
  EXPECT_EQ(execution->set_input("z", Tensor(DType::f32, {2, 1, 14, 14})).code(), Code::not_found);
  EXPECT_EQ(execution->set_parameter("fc2.b", Tensor(DType::f32, {4})).code(), Code::invalid_argument);
  EXPECT_EQ(execution->set_parameter("x", Tensor(DType::f32, {3})).code(), Code::not_found);
  EXPECT_TRUE(execution->set_input("x", Tensor(DType::f32, {2, 1, 14, 14})).ok());
}

TEST(Backend, NamesAreFound) {
  ASSERT_FALSE(backend_names().empty());
  for (const std::string& name : backend_names()) EXPECT_EQ(find_backend(name).value()->name(), name);
  EXPECT_EQ(backend_names().back(), "portable");
}

}  // namespace
}  // namespace mangrove
