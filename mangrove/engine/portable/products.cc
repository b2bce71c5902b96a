#include "mangrove/engine/portable/products.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> products() {
  return {{"Einsum", make_einsum}, {"Gemm", make_gemm}, {"MatMul", make_matmul}};
}

}  // namespace mangrove::portable
