#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// One input of a sampled node.
struct SampleInput {
  enum class Role { fed, parameter, constant, absent };
  Role role = Role::fed;
  Shape shape = {};                 // kBatch where the batch is symbolic
  Tensor constant = {};             // of role constant
  double low = -1, high = 1;        // range of what is fed (or of the parameter); whole numbers for integer types
  std::optional<DType> dtype = {};  // of what is fed or constant; nothing: the floating type under test
};

SampleInput fed(Shape shape, double low = -1, double high = 1);
SampleInput fed_type(DType dtype, Shape shape, double low, double high);
SampleInput parameter(Shape shape, double low = -1, double high = 1);
SampleInput constant(Tensor value);
/// A constant of the floating type under test, shape [].
SampleInput scalar(double value);
/// A constant i64 vector.
SampleInput integers(const std::vector<std::int64_t>& values);
SampleInput absent();

/// One use of one operator, small enough for central differences.
struct OperatorSample {
  std::string name;  // "Conv_strided", also the test's name
  std::string op;
  std::vector<SampleInput> inputs;
  std::map<std::string, Attribute> attributes = {};
  std::size_t outputs = 1;     // named "y", "y1", "y2" ...
  bool differentiable = true;  // false: this use has no gradient to check (integers, ...)
};

/// Samples of every operator of the operator table, odd shapes and all attributes that change what is computed.
/// A new row of the table needs at least one: the tests that read this list fail without.
std::vector<OperatorSample> operator_samples();

/// One function per family of the operator table, each in the file of its name.
namespace samples {

std::vector<OperatorSample> activations();
std::vector<OperatorSample> arithmetic();
std::vector<OperatorSample> constants();
std::vector<OperatorSample> convolutions();
std::vector<OperatorSample> indexing();
std::vector<OperatorSample> logic();
std::vector<OperatorSample> movement();
std::vector<OperatorSample> normalizations();
std::vector<OperatorSample> pools();
std::vector<OperatorSample> products();
std::vector<OperatorSample> quantization();
std::vector<OperatorSample> recurrent();
std::vector<OperatorSample> reductions();
std::vector<OperatorSample> regularization();
std::vector<OperatorSample> shapes();
std::vector<OperatorSample> softmaxes();

}  // namespace samples

/// A graph of this node alone: inputs "in0", ..., outputs "y", "y1", ...; initializers drawn from a fixed seed.
Graph sample_graph(const OperatorSample& sample, DType dtype);

/// What the sample feeds input `name` ("in0") of its graph at this batch: uniform in the input's range.
Tensor sample_input(const OperatorSample& sample, const Graph& graph, const std::string& name, std::int64_t batch,
                    std::uint64_t seed);

}  // namespace mangrove
