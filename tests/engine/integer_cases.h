#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/execution.h"

/// Graphs of bytes, for tests of ConvInteger, MatMulInteger and DynamicQuantizeLinear.
namespace mangrove {

using Attributes = std::map<std::string, Attribute>;
using Sizes = std::vector<std::int64_t>;

/// All values, or only the lowest and the highest: products of those are the largest that there are.
enum class Draw { all, extremes, highest };

/// u8 or i8.
Tensor bytes(DType dtype, const Shape& shape, Draw draw, std::uint64_t seed);
Tensor zero_point_of(DType dtype, int value, const Shape& shape = {});

/// A node ConvInteger or MatMulInteger.
struct IntegerCase {
  std::string name;
  std::string op;
  Shape x, w;
  DType x_type = DType::u8, w_type = DType::i8;
  std::optional<Tensor> x_zero = {}, w_zero = {};
  Attributes attributes = {};
  bool computed_weights = false;  // they are an input of the graph
};

/// x, and where the weights are computed w, -> y.
Graph graph_of(const IntegerCase& c, Draw draw);

Attributes windows(Sizes pads, Sizes strides, std::int64_t group = 1, Sizes dilations = {1, 1});
/// Of a kernel of 3 x 3 whose result is as large as its input.
extern const Attributes kIntegerSame;

struct Setting {
  std::string backend;
  bool optimized = false;
  int threads = 1;
  std::int64_t batch = 2;
};

/// The graph after a forward pass on inputs that are drawn, the same each time.
std::unique_ptr<Execution> run_drawn(const Graph& graph, const Setting& setting, Draw draw);

void expect_same_bits(const Tensor& found, const Tensor& expected);

}  // namespace mangrove
