#include "tests/engine/integer_cases.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/engine/backend_comparison.h"

#include "mangrove/engine/optimize.h"

namespace mangrove {

Tensor bytes(DType dtype, const Shape& shape, Draw draw, std::uint64_t seed) {
  const double low = dtype == DType::u8 ? 0 : -128, high = dtype == DType::u8 ? 255 : 127;
  if (draw == Draw::highest) return uniform_tensor(dtype, shape, seed, high, high);
  Tensor tensor = uniform_tensor(dtype, shape, seed, low, high);
  if (draw == Draw::all) return tensor;
  const auto spread = [&](auto values) {
    for (auto& value : values)
      value = static_cast<std::remove_reference_t<decltype(value)>>(value > (low + high) / 2 ? high : low);
  };
  dtype == DType::u8 ? spread(tensor.as<std::uint8_t>()) : spread(tensor.as<std::int8_t>());
  return tensor;
}

Tensor zero_point_of(DType dtype, int value, const Shape& shape) {
  return uniform_tensor(dtype, shape, 1, value, value);
}

Graph graph_of(const IntegerCase& c, Draw draw) {
  GraphSketch sketch(DType::f32);
  sketch.input("x", c.x, c.x_type);
  if (c.computed_weights) sketch.input("w", c.w, c.w_type);
  if (!c.computed_weights) sketch.constant("w", bytes(c.w_type, c.w, draw, 3));
  std::vector<std::string> inputs{"x", "w", "", ""};
  if (c.x_zero) sketch.constant(inputs[2] = "x.zero", *c.x_zero);
  if (c.w_zero) sketch.constant(inputs[3] = "w.zero", *c.w_zero);
  while (inputs.back().empty()) inputs.pop_back();
  return sketch.node(c.op, inputs, "y", c.attributes).create({"y"});
}

std::unique_ptr<Execution> run_drawn(const Graph& graph, const Setting& setting, Draw draw) {
  Graph rewritten = graph;
  if (setting.optimized) {
    auto optimized = optimize(graph, {});
    EXPECT_TRUE(optimized.ok()) << optimized.error().message;
    rewritten = std::move(optimized).value().graph;
  }
  auto program =
      Program::compile(rewritten, {.batch = setting.batch, .backend = setting.backend, .threads = setting.threads});
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto execution = std::move(Execution::create(*program)).value();
  std::uint64_t seed = 11;
  for (const auto& [name, info] : graph.inputs()) {
    const Shape shape = info.shape.with_batch(setting.batch);
    const Tensor value = info.dtype == DType::f32 ? uniform_tensor(DType::f32, shape, seed, -2, 3)
                                                  : bytes(info.dtype, shape, draw, seed);
    EXPECT_TRUE(execution->set_input(name, value).ok());
    ++seed;
  }
  execution->forward();
  return execution;
}

void expect_same_bits(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  ASSERT_EQ(found.shape(), expected.shape());
  ASSERT_GT(found.bytes(), 0);
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.bytes())), 0);
}

Attributes windows(Sizes pads, Sizes strides, std::int64_t group, Sizes dilations) {
  return {{"pads", std::move(pads)},
          {"strides", std::move(strides)},
          {"group", group},
          {"dilations", std::move(dilations)}};
}

const Attributes kIntegerSame = windows({1, 1, 1, 1}, {1, 1});

}  // namespace mangrove
