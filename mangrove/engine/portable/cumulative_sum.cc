#include <functional>

#include "mangrove/engine/portable/arithmetic.h"
#include "mangrove/engine/portable/axis_rows.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/reductions.h"
#include "mangrove/graph/reduction_geometry.h"

namespace mangrove::portable {
namespace {

struct CumulativeSum {
  AxisRows rows;
  bool exclusive;  // without the element itself
  bool reverse;    // from the end on
  int threads;

  template <class T>
  void run(const T* x, T* y) const {
    rows.for_each(threads, [&](std::int64_t begin) {
      Sum<T> sum = 0;
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const std::int64_t at = begin + (reverse ? rows.length - 1 - i : i) * rows.stride;
        const Sum<T> next = wrapping(sum, Sum<T>(x[at]), std::plus<>());
        y[at] = static_cast<T>(exclusive ? sum : next);
        sum = next;
      }
    });
  }
};

template <class T>
Step cumulative_step(const KernelRequest& request, const char* what, std::vector<Operand> operands,
                     const CumulativeSum& sums) {
  Step step = make_step(request, what, std::move(operands),
                        [sums](const Buffers& buffers) { sums.run(buffers.as<const T>(0), buffers.as<T>(1)); });
  step.in_place = {0, 1};
  return step;
}

}  // namespace

Result<NodeKernels> make_cumulative_sum(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const Shape& shape = request.inputs[0].shape;
  MG_TRY(const std::size_t axis, cumulative_axis(request.constants[1], shape));
  CumulativeSum sums{.rows = AxisRows(shape, axis),
                     .exclusive = request.node.int_or("exclusive", 0) != 0,
                     .reverse = request.node.int_or("reverse", 0) != 0,
                     .threads = request.threads};
  return for_one_of<float, double, std::int32_t, std::int64_t>(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(cumulative_step<T>(request, "forward", {read_value(x), write_value(y)}, sums));
    if (!wants_gradient(request, 0)) return kernels;
    sums.reverse = !sums.reverse;  // each element has a part in the sums that come after it
    kernels.backward.push_back(cumulative_step<T>(request, "backward", {read_gradient(y), write_gradient(x)}, sums));
    return kernels;
  });
}

}  // namespace mangrove::portable
