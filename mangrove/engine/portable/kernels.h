#pragma once

#include <string_view>
#include <vector>

#include "mangrove/engine/kernel.h"

/// The portable kernels of every operator of the operator table, in the same families; one or more files each.
namespace mangrove::portable {

/// How the kernels of one operator are made. errors: unimplemented (a type or case without a kernel; says which).
struct KernelRow {
  std::string_view op;
  Result<NodeKernels> (*make)(const KernelRequest&);
};

std::vector<KernelRow> activations();
std::vector<KernelRow> arithmetic();
std::vector<KernelRow> constants();
std::vector<KernelRow> convolutions();
std::vector<KernelRow> indexing();
std::vector<KernelRow> logic();
std::vector<KernelRow> movement();
std::vector<KernelRow> normalizations();
std::vector<KernelRow> pools();
std::vector<KernelRow> products();
std::vector<KernelRow> quantization();
std::vector<KernelRow> recurrent();
std::vector<KernelRow> reductions();
std::vector<KernelRow> regularization();
std::vector<KernelRow> shapes();
std::vector<KernelRow> softmaxes();

/// The bytes of input 0 under the shape of output 0 (and back for the gradient): what several families need.
Result<NodeKernels> make_copy(const KernelRequest& request);

}  // namespace mangrove::portable
