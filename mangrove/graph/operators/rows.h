#pragma once

#include "mangrove/graph/operator.h"

/// One function per row of the operator table; operator_table.cc lists them.
namespace mangrove::rows {

Operator add();
Operator average_pool();
Operator conv();
Operator dropout();
Operator flatten();
Operator gemm();
Operator global_average_pool();
Operator identity();
Operator matmul();
Operator max_pool();
Operator relu();
Operator reshape();
Operator sigmoid();
Operator softmax();
Operator tanh();

}  // namespace mangrove::rows
