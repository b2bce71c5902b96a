#include <algorithm>

#include "mangrove/base/random_bits.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/dropout_ratio.h"

namespace mangrove::portable {
namespace {

/// Which elements a Dropout keeps. Each element's random number is computed from where it stands, so the backward pass
/// finds the same mask without keeping it.
class DropoutMask {
 public:
  DropoutMask(std::string_view node, double ratio, std::int64_t elements)
      : node_(stream_of(node)), drop_below_(static_cast<std::uint32_t>(ratio * 0x1.0p32)), elements_(elements) {}

  /// visit(element, whether it is kept) for each, in order.
  template <class Visit>
  void for_each(const RandomState& state, Visit visit) const {
    const std::uint64_t stream = random_bits(random_bits(state.seed, state.run), node_);
    for (std::int64_t i = 0; i < elements_; i += 2) {  // half of the bits for each of two elements
      const std::uint64_t bits = random_bits(stream, static_cast<std::uint64_t>(i));
      visit(i, static_cast<std::uint32_t>(bits) >= drop_below_);
      if (i + 1 < elements_) visit(i + 1, static_cast<std::uint32_t>(bits >> 32) >= drop_below_);
    }
  }

 private:
  std::uint64_t node_;
  std::uint32_t drop_below_;
  std::int64_t elements_;
};

Operand read_random() {
  return {.kind = Operand::Kind::random, .access = Operand::Access::read, .name = ""};
}

// Forward from x to y, and just so backward from dy to dx.
template <class T>
Step drop_step(const KernelRequest& request, const std::string& what, const DropoutMask& mask, double ratio,
               Operand from, Operand to) {
  const T scale = static_cast<T>(1 / (1 - ratio));
  Step step =
      make_step(request, what, {std::move(from), read_random(), std::move(to)}, [mask, scale](const Buffers& buffers) {
        const T* src = buffers.as<const T>(0);
        T* dst = buffers.as<T>(2);
        mask.for_each(*buffers.as<const RandomState>(1),
                      [&](std::int64_t i, bool is_kept) { dst[i] = is_kept ? scale * src[i] : T(0); });
      });
  step.in_place = {0, 2};
  return step;
}

Step mask_step(const KernelRequest& request, const DropoutMask& mask) {
  return make_step(
      request, "mask", {read_random(), write_value(request.output_names[1])}, [mask](const Buffers& buffers) {
        bool* kept = buffers.as<bool>(1);
        mask.for_each(*buffers.as<const RandomState>(0), [&](std::int64_t i, bool is_kept) { kept[i] = is_kept; });
      });
}

Step full_mask_step(const KernelRequest& request) {
  return make_step(request, "mask", {write_value(request.output_names[1])},
                   [elements = request.outputs[1].shape.elements()](const Buffers& buffers) {
                     std::fill_n(buffers.as<bool>(0), elements, true);
                   });
}

Result<NodeKernels> make_dropout(const KernelRequest& request) {
  MG_TRY(const double ratio, dropout_ratio(request.node, request.constants));
  const bool has_mask = request.outputs.size() > 1;
  if (request.mode == Mode::inference || ratio == 0) {
    MG_TRY(NodeKernels kernels, make_copy(request));
    if (has_mask) kernels.forward.push_back(full_mask_step(request));
    return kernels;
  }
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const DropoutMask mask(request.node.name, ratio, request.outputs[0].shape.elements());
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    if (has_mask) kernels.forward.push_back(mask_step(request, mask));
    kernels.forward.push_back(drop_step<T>(request, "forward", mask, ratio, read_value(x), write_value(y)));
    if (wants_gradient(request, 0)) {
      kernels.backward.push_back(drop_step<T>(request, "backward", mask, ratio, read_gradient(y), write_gradient(x)));
    }
    return kernels;
  });
}

}  // namespace

std::vector<KernelRow> regularization() {
  return {{"Dropout", make_dropout}, {"Identity", make_copy}};
}

}  // namespace mangrove::portable
