#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/simd/kernels.h"

namespace mangrove::onednn {
namespace {

/// Whether elements lie in memory without gaps between them, in some order.
bool is_dense(const Desc& desc, std::int64_t elements) {
  return desc.data.format_kind == dnnl_blocked && static_cast<std::int64_t>(desc.get_size()) == elements * kFloatBytes;
}

}  // namespace

bool dynamic_quantize_supported(const KernelRequest& request) {
  return request.mode == Mode::inference;
}

// The order of elements does not matter, so bytes lie as the floats do: channels last behind a product of bytes.
NodeKernels make_dynamic_quantize(const dnnl::engine&, const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  if (shape.rank() == 0) return simd::make_plain_dynamic_quantize(request).value();
  const Value x = input_value(request, 0), y = output_value(request);
  const Desc lies = desc_of(request.layouts[0], x.plain);
  if (!is_dense(lies, shape.elements())) return simd::make_plain_dynamic_quantize(request).value();
  return simd::make_dynamic_quantize(request, make_layout(lies, x.plain),
                                     make_layout(with_type(lies, DType::u8), y.plain))
      .value();
}

}  // namespace mangrove::onednn
