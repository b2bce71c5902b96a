#include "mangrove/engine/onednn/onednn_backend.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <array>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "mangrove/engine/onednn/epilogue.h"
#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {
namespace {

struct Family {
  std::string_view op;
  bool (*supported)(const KernelRequest&);
  NodeKernels (*make)(const dnnl::engine&, const KernelRequest&);
  bool (*fuses)(const KernelRequest&);  // null: nothing
};

constexpr std::array kFamilies{
    Family{"Abs", eltwise_supported, make_eltwise, nullptr},
    Family{"Add", binary_supported, make_binary, nullptr},
    Family{"AveragePool", pool_supported, make_pool, nullptr},
    Family{"BatchNormalization", batch_norm_supported, make_batch_norm, batch_norm_fuses},
    Family{"Clip", eltwise_supported, make_eltwise, nullptr},
    Family{"Concat", concat_supported, make_concat, nullptr},
    Family{"Conv", conv_supported, make_conv, fuses_residual_and_activation},
    Family{"ConvTranspose", deconv_supported, make_deconv, nullptr},
    Family{"Div", binary_supported, make_binary, nullptr},
    Family{"Elu", eltwise_supported, make_eltwise, nullptr},
    Family{"Exp", eltwise_supported, make_eltwise, nullptr},
    Family{"Gemm", inner_product_supported, make_inner_product, fuses_activation},
    Family{"GlobalAveragePool", pool_supported, make_pool, nullptr},
    Family{"GlobalMaxPool", pool_supported, make_pool, nullptr},
    Family{"HardSwish", eltwise_supported, make_eltwise, nullptr},
    Family{"LeakyRelu", eltwise_supported, make_eltwise, nullptr},
    Family{"LogSoftmax", softmax_supported, make_softmax, nullptr},
    Family{"LRN", lrn_supported, make_lrn, nullptr},
    Family{"LayerNormalization", layer_norm_supported, make_layer_norm, nullptr},
    Family{"MatMul", matmul_supported, make_matmul, fuses_activation},
    Family{"Max", binary_supported, make_binary, nullptr},
    Family{"MaxPool", pool_supported, make_pool, nullptr},
    Family{"Min", binary_supported, make_binary, nullptr},
    Family{"Mul", binary_supported, make_binary, nullptr},
    Family{"Neg", eltwise_supported, make_eltwise, nullptr},
    Family{"Pow", eltwise_supported, make_eltwise, nullptr},
    Family{"Reciprocal", eltwise_supported, make_eltwise, nullptr},
    Family{"Relu", eltwise_supported, make_eltwise, nullptr},
    Family{"Resize", resampling_supported, make_resampling, nullptr},
    Family{"Sigmoid", eltwise_supported, make_eltwise, nullptr},
    Family{"Softmax", softmax_supported, make_softmax, nullptr},
    Family{"Softplus", eltwise_supported, make_eltwise, nullptr},
    Family{"Sqrt", eltwise_supported, make_eltwise, nullptr},
    Family{"Sub", binary_supported, make_binary, nullptr},
    Family{"Tanh", eltwise_supported, make_eltwise, nullptr},
};

const Family* find_family(std::string_view op) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.op == op; });
  return found == kFamilies.end() ? nullptr : &*found;
}

bool is_f32(const ValueInfo& info) {
  return info.dtype == DType::f32 && info.shape.elements() > 0;
}

/// oneDNN decides how to split the work when a primitive is made, by the calling thread's OpenMP setting.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~OpenMpThreads() { omp_set_num_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

Error as_error(const std::string& what, const dnnl::error& error) {
  const Code code = error.status == dnnl_unimplemented   ? Code::unimplemented
                    : error.status == dnnl_out_of_memory ? Code::resource_exhausted
                                                         : Code::internal;
  return make_error(code, what + ": oneDNN: " + error.what() + " (" + dnnl_status2str(error.status) + ")");
}

/// Numbers below 1.2e-38 become 0: with them, x86 kernels run up to a hundred times slower.
void flush_denormals() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

/// Null for plain, and for a layout that is not ours.
const BlockedLayout* as_blocked(const LayoutPtr& layout) {
  return dynamic_cast<const BlockedLayout*>(layout.get());
}

class OnednnBackend final : public Backend {
 public:
  OnednnBackend() : engine_(dnnl::engine::kind::cpu, 0) {}

  std::string_view name() const override { return "onednn"; }

  bool supports(const KernelRequest& request) const override {
    const Family* family = find_family(request.node.op);
    if (family == nullptr || (!request.epilogue.empty() && !fuses(request))) return false;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const bool is_known = request.constants[i] != nullptr;  // sizes or axes, say, that no step reads
      if (has_input(request, i) && !is_known && !is_f32(request.inputs[i])) return false;
    }
    if (!std::all_of(request.outputs.begin(), request.outputs.end(), is_f32)) return false;
    // Asking oneDNN itself is the only sure way; it keeps what it made, so that making it again costs little.
    return family->supported(request) && make_kernels(request).ok();
  }

  bool fuses(const KernelRequest& request) const override {
    const Family* family = find_family(request.node.op);
    return family != nullptr && family->fuses != nullptr && family->fuses(request);
  }

  Result<NodeKernels> make_kernels(const KernelRequest& request) const override try {
    const Family* family = find_family(request.node.op);
    MG_CHECK_MSG(family != nullptr, request.node.op);
    const OpenMpThreads threads(request.threads);
    return family->make(engine_, request);
  } catch (const dnnl::error& error) {
    return as_error(request.node.op + " '" + request.node.name + "'", error);
  }

  Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const override;

  void prepare_thread(int threads) const override {
    omp_set_num_threads(threads);
    flush_denormals();
    if (threads > 1) {
#pragma omp parallel
      flush_denormals();
    }
  }

 private:
  dnnl::engine engine_;
};

Result<Step> OnednnBackend::make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const try {
  const BlockedLayout* source = as_blocked(from);
  const BlockedLayout* target = as_blocked(to);
  if ((from && source == nullptr) || (to && target == nullptr) || info.dtype != DType::f32)
    return make_error(Code::unimplemented,
                      "reorder of " + to_string(info.shape) + ": not a layout of f32 values in oneDNN");
  if (source != nullptr && target != nullptr && source->plain() != target->plain())
    return make_error(Code::unimplemented, "reorder of " + to_string(info.shape) + " from " + source->describe() +
                                               " to " + target->describe() + ": they have different dimensions");
  const Desc plain = source != nullptr   ? source->plain()
                     : target != nullptr ? target->plain()
                                         : plain_desc(info.shape.dims());
  const Value value{"", plain};
  const OpenMpThreads threads(1);  // small beside the kernels
  return copy_step(engine_, "reorder", "", read_value(DNNL_ARG_FROM, value, desc_of(from, plain)),
                   write_value(DNNL_ARG_TO, value, desc_of(to, plain)));
} catch (const dnnl::error& error) {
  return as_error("reorder of " + to_string(info.shape), error);
}

}  // namespace
}  // namespace mangrove::onednn

namespace mangrove {

std::shared_ptr<const Backend> make_onednn_backend() try {
  return std::make_shared<onednn::OnednnBackend>();
} catch (const dnnl::error& error) {
  check_failed(__FILE__, __LINE__, "make_onednn_backend",
               std::string("oneDNN has no engine for a CPU: ") + error.what());
}

}  // namespace mangrove
