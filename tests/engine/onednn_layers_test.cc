// Which layers run on oneDNN's own kernels: their samples must not fall back to portable ones.
#ifdef MANGROVE_WITH_ONEDNN
#include <gtest/gtest.h>

#include <set>

#include "tests/engine/gradient_check.h"
#include "tests/engine/operator_samples.h"

#include "mangrove/engine/onednn/byte_support.h"

namespace mangrove {
namespace {

// What oneDNN has no kernel for.
const std::set<std::string> kPortable{
    "AveragePool_rounded_up_padding_counted",  // it counts what sticks out of the padding
    "LRN_even",                                // its window leans to the other side
    "MatMul_broadcast_stacks",
    "MatMul_broadcast_a",
    "MatMul_row",
    "MatMul_integers",
    "MaxPool_indices",
    "DequantizeLinear_channels",  // one scale for each channel
    "DequantizeLinear_i32",       // with a zero point
    "DequantizeLinear_last",
    "QLinearConv_grouped",  // groups of few channels, with zero points
    "QLinearMatMul",        // weights with a zero point
    "QuantizeLinear_channels",
    "LayerNormalization_statistics",
};

TEST(OnednnLayers, RunWithoutPortableKernels) {
  const std::set<std::string> ops{"Conv",
                                  "ConvTranspose",
                                  "MaxPool",
                                  "AveragePool",
                                  "GlobalMaxPool",
                                  "GlobalAveragePool",
                                  "LRN",
                                  "LayerNormalization",
                                  "MatMul",
                                  "QLinearConv",
                                  "QLinearMatMul",
                                  "QuantizeLinear",
                                  "DequantizeLinear"};
  for (const OperatorSample& sample : operator_samples()) {
    if (!ops.contains(sample.op)) continue;
    const auto execution = training_execution(sample_graph(sample, DType::f32), "onednn", 3);
    const std::string trace = execution->program().describe();
    const bool on_bytes = sample.op == "QLinearConv" || sample.op == "QLinearMatMul";
    const bool portable = kPortable.contains(sample.name) || (on_bytes && !computes_byte_products());
    EXPECT_EQ(trace.find("is portable") != std::string::npos, portable) << sample.name << "\n" << trace;
  }
}

}  // namespace
}  // namespace mangrove
#endif  // MANGROVE_WITH_ONEDNN
