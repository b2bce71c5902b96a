#include "mangrove/engine/portable/quantization.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> quantization() {
  return {{"ConvInteger", make_integer_conv},
          {"DequantizeLinear", make_dequantize},
          {"DynamicQuantizeLinear", make_dynamic_quantize},
          {"MatMulInteger", make_integer_matmul},
          {"QLinearConv", make_integer_conv},
          {"QLinearMatMul", make_integer_matmul},
          {"QuantizeLinear", make_quantize}};
}

}  // namespace mangrove::portable
