#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/compress/calibration.h"
#include "mangrove/compress/quantize.h"
#include "mangrove/graph/graph.h"

/// Small float networks, and what quantization makes of them.
namespace mangrove::compress {

/// Writes a graph whose input "x" is f32 [N, ...].
class NetworkWriter {
 public:
  explicit NetworkWriter(Shape input);

  /// A node called as what it gives. Names of constants() are inputs like others.
  NetworkWriter& node(const std::string& op, const std::string& result, std::vector<std::string> inputs,
                      std::map<std::string, Attribute> attributes = {});
  /// An initializer of normal numbers.
  NetworkWriter& weights(const std::string& name, Shape shape, double deviation = 0.5);
  NetworkWriter& constant(const std::string& name, Tensor tensor);
  Graph finish(std::vector<std::string> outputs);

 private:
  GraphParts parts_;
  Random random_;
};

/// Normal numbers for x, the only input, of this batch.
Tensor random_input(const Graph& graph, std::int64_t batch, std::uint64_t seed);
/// What a graph gives for x; its first output. By the portable kernels: the reference.
std::vector<float> run(const Graph& graph, const Tensor& x);
/// What calibration sees in four batches of random_input.
std::map<std::string, Histogram> calibrated(const Graph& graph, const QuantizationPlan& plan);
/// Quantized with ranges by minmax.
Graph quantized(const Graph& graph, const QuantizeOptions& options = {});
/// 10 log10 of signal over noise.
double signal_to_noise(const std::vector<float>& signal, const std::vector<float>& with_noise);

/// The node that gives a value, and those that read it; the test fails where there is no such.
const Node& maker(const Graph& graph, const std::string& value);
std::vector<const Node*> readers(const Graph& graph, const std::string& value);

}  // namespace mangrove::compress
