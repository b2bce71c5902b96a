#pragma once

#include <map>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/compress/histogram.h"
#include "mangrove/compress/quantization_plan.h"
#include "mangrove/compress/range_method.h"
#include "mangrove/graph/graph.h"

namespace mangrove::compress {

/// The graph with the nodes of the plan computing on bytes, as standard ONNX writes it (opset 17, "QDQ"): every value
/// of the plan goes through a QuantizeLinear and a DequantizeLinear, weights are an i8 initializer and a
/// DequantizeLinear with a scale for each output channel, biases an i32 one. Zero points are all 0. A value is u8 where
/// calibration saw nothing negative in it, else i8. Outputs keep their names and stay float; so does what only float
/// nodes read.
///
/// A runtime that knows nothing of this computes the same in float, rounded where bytes would be.
///
/// calibration  what was seen of each value in plan.observed(), see calibration.h.
/// errors: not_found (a value without calibration).
/// Source: Jacob et al., CVPR 2018; Wu et al., Integer quantization for deep learning inference, 2020, for where
/// values are bytes.
Result<Graph> quantize_static(const Graph& graph, const QuantizationPlan& plan,
                              const std::map<std::string, Histogram>& calibration, const RangeMethod& method);

}  // namespace mangrove::compress
