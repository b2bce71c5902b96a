#include "mangrove/engine/portable/portable_backend.h"

#include <algorithm>
#include <iterator>

#include "mangrove/engine/portable/kernels.h"

namespace mangrove {
namespace {

struct Row {
  std::string_view op;
  Result<NodeKernels> (*make)(const KernelRequest&);
  bool any_type = false;  // moves bytes, whatever they mean
};

// One row for each row of the operator table.
constexpr Row kRows[] = {
    {.op = "Add", .make = &portable::make_add},
    {.op = "AveragePool", .make = &portable::make_average_pool},
    {.op = "Conv", .make = &portable::make_conv},
    {.op = "Dropout", .make = &portable::make_dropout},
    {.op = "Flatten", .make = &portable::make_copy, .any_type = true},
    {.op = "Gemm", .make = &portable::make_gemm},
    {.op = "GlobalAveragePool", .make = &portable::make_average_pool},
    {.op = "Identity", .make = &portable::make_copy, .any_type = true},
    {.op = "MatMul", .make = &portable::make_gemm},
    {.op = "MaxPool", .make = &portable::make_max_pool},
    {.op = "Relu", .make = &portable::make_activation},
    {.op = "Reshape", .make = &portable::make_copy, .any_type = true},
    {.op = "Sigmoid", .make = &portable::make_activation},
    {.op = "Softmax", .make = &portable::make_softmax},
    {.op = "Tanh", .make = &portable::make_activation},
};

const Row* find_row(std::string_view op) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

class PortableBackend final : public Backend {
 public:
  std::string_view name() const override { return "portable"; }

  bool supports(const KernelRequest& request) const override {
    const Row* row = find_row(request.node.op);
    if (row == nullptr || request.activation != nullptr) return false;
    const DType dtype = request.outputs[0].dtype;
    return row->any_type || dtype == DType::f32 || dtype == DType::f64;
  }

  bool fuses(const Node&, const Node&) const override { return false; }

  Result<NodeKernels> make_kernels(const KernelRequest& request) const override {
    return find_row(request.node.op)->make(request);
  }

  Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const override {
    return make_error(Code::internal, "portable values lie plain, found " + (from ? from->describe() : "plain") +
                                          " to " + (to ? to->describe() : "plain") + " for " + to_string(info.shape));
  }

  void prepare_thread(int) const override {}  // one thread, denormal numbers as IEEE has them
};

}  // namespace

std::shared_ptr<const Backend> make_portable_backend() {
  return std::make_shared<PortableBackend>();
}

}  // namespace mangrove
