#include "mangrove/engine/onednn/onednn_backend.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <array>

#include "mangrove/engine/flush_denormals.h"
#include "mangrove/engine/onednn/byte_product.h"
#include "mangrove/engine/onednn/epilogue.h"
#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {
namespace {

struct Family {
  std::string_view op;
  bool (*supported)(const KernelRequest&);
  NodeKernels (*make)(const dnnl::engine&, const KernelRequest&);
  bool (*fuses)(const KernelRequest&);  // null: nothing
  enum class Types {
    floats,   // f32 only
    bytes,    // all f32, all u8 or all i8
    several,  // checks them itself
  } types = Types::floats;
};

bool is_byte_product(const KernelRequest& request) {
  return find_byte_product(request).has_value();
}

using Types = Family::Types;

constexpr std::array kFamilies{
    Family{"Abs", eltwise_supported, make_eltwise, nullptr},
    Family{"Add", binary_supported, make_binary, nullptr},
    Family{"AveragePool", pool_supported, make_pool, nullptr},
    Family{"BatchNormalization", batch_norm_supported, make_batch_norm, batch_norm_fuses},
    Family{"Clip", eltwise_supported, make_eltwise, nullptr},
    Family{"Concat", concat_supported, make_concat, nullptr, Types::bytes},
    Family{"Conv", conv_supported, make_conv, fuses_residual_and_activation},
    Family{"ConvInteger", integer_product_supported, make_integer_conv, integer_product_fuses, Types::several},
    Family{"ConvTranspose", deconv_supported, make_deconv, nullptr},
    Family{"DequantizeLinear", quantize_supported, make_dequantize, nullptr, Types::several},
    Family{"Div", binary_supported, make_binary, nullptr},
    Family{"DynamicQuantizeLinear", dynamic_quantize_supported, make_dynamic_quantize, nullptr, Types::several},
    Family{"Elu", eltwise_supported, make_eltwise, nullptr},
    Family{"Exp", eltwise_supported, make_eltwise, nullptr},
    Family{"GRU", recurrent_supported, make_recurrent, nullptr},
    Family{"Gemm", inner_product_supported, make_inner_product, fuses_activation},
    Family{"GlobalAveragePool", pool_supported, make_pool, nullptr},
    Family{"GlobalMaxPool", pool_supported, make_pool, nullptr},
    Family{"HardSwish", eltwise_supported, make_eltwise, nullptr},
    Family{"LeakyRelu", eltwise_supported, make_eltwise, nullptr},
    Family{"LogSoftmax", softmax_supported, make_softmax, nullptr},
    Family{"LRN", lrn_supported, make_lrn, nullptr},
    Family{"LSTM", recurrent_supported, make_recurrent, nullptr},
    Family{"LayerNormalization", layer_norm_supported, make_layer_norm, nullptr},
    Family{"MatMul", matmul_supported, make_matmul, fuses_activation},
    Family{"MatMulInteger", integer_product_supported, make_integer_matmul, integer_product_fuses, Types::several},
    Family{"Max", binary_supported, make_binary, nullptr},
    Family{"MaxPool", pool_supported, make_pool, nullptr, Types::bytes},
    Family{"Min", binary_supported, make_binary, nullptr},
    Family{"Mul", binary_supported, make_binary, nullptr},
    Family{"Neg", eltwise_supported, make_eltwise, nullptr},
    Family{"Pow", eltwise_supported, make_eltwise, nullptr},
    Family{"QLinearConv", byte_conv_supported, make_byte_conv, nullptr, Types::several},
    Family{"QLinearMatMul", byte_matmul_supported, make_byte_matmul, nullptr, Types::several},
    Family{"QuantizeLinear", quantize_supported, make_quantize, nullptr, Types::several},
    Family{"RNN", recurrent_supported, make_recurrent, nullptr},
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

/// Those that read what their inputs are dequantized from.
constexpr std::array kDequantizedFamilies{
    Family{"Conv", byte_conv_supported, make_byte_conv, is_byte_product, Types::several},
    Family{"Gemm", byte_matmul_supported, make_byte_matmul, is_byte_product, Types::several},
    Family{"MatMul", byte_matmul_supported, make_byte_matmul, is_byte_product, Types::several},
};

const Family* find_family(const KernelRequest& request) {
  const auto families =
      request.dequantized.empty() ? std::span<const Family>(kFamilies) : std::span<const Family>(kDequantizedFamilies);
  const auto found =
      std::find_if(families.begin(), families.end(), [&](const Family& f) { return f.op == request.node.op; });
  return found == families.end() ? nullptr : &*found;
}

/// Inputs that are known (sizes or axes, say) no step reads.
bool is_read(const KernelRequest& request, std::size_t input) {
  return has_input(request, input) && request.constants[input] == nullptr;
}

bool has_elements(const KernelRequest& request) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (is_read(request, i) && request.inputs[i].shape.elements() == 0) return false;
  }
  return std::ranges::all_of(request.outputs, [](const ValueInfo& info) { return info.shape.elements() > 0; });
}

bool has_type(const KernelRequest& request, DType dtype) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (is_read(request, i) && request.inputs[i].dtype != dtype) return false;
  }
  return std::ranges::all_of(request.outputs, [=](const ValueInfo& info) { return info.dtype == dtype; });
}

bool has_types(const KernelRequest& request, Family::Types types) {
  if (types == Family::Types::several || has_type(request, DType::f32)) return true;
  return types == Family::Types::bytes && (has_type(request, DType::u8) || has_type(request, DType::i8));
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

/// Null for plain, and for a layout that is not ours.
const BlockedLayout* as_blocked(const LayoutPtr& layout) {
  return dynamic_cast<const BlockedLayout*>(layout.get());
}

class OnednnBackend final : public Backend {
 public:
  OnednnBackend() : engine_(dnnl::engine::kind::cpu, 0) {}

  std::string_view name() const override { return "onednn"; }

  bool supports(const KernelRequest& request) const override {
    const Family* family = find_family(request);
    if (family == nullptr || (!request.epilogue.empty() && !fuses(request))) return false;
    if (!has_elements(request) || !has_types(request, family->types)) return false;
    // Asking oneDNN itself is the only sure way; it keeps what it made, so that making it again costs little.
    return family->supported(request) && make_kernels(request).ok();
  }

  bool supports_dequantized(const KernelRequest& request) const override { return supports(request); }

  bool fuses(const KernelRequest& request) const override {
    const Family* family = find_family(request);
    return family != nullptr && family->fuses != nullptr && family->fuses(request);
  }

  Result<NodeKernels> make_kernels(const KernelRequest& request) const override try {
    const Family* family = find_family(request);
    MG_CHECK_MSG(family != nullptr, request.node.op);
    const OpenMpThreads threads(request.threads);
    return family->make(engine_, request);
  } catch (const dnnl::error& error) {
    return as_error(request.node.op + " '" + request.node.name + "'", error);
  }

  Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const override;

  void prepare_thread(int threads) const override {
    omp_set_num_threads(threads);
    flush_denormals(threads);
  }

 private:
  dnnl::engine engine_;
};

Result<Step> OnednnBackend::make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const try {
  const BlockedLayout* source = as_blocked(from);
  const BlockedLayout* target = as_blocked(to);
  if ((from && source == nullptr) || (to && target == nullptr) ||
      data_type_of(info.dtype) == dnnl::memory::data_type::undef)
    return make_error(Code::unimplemented, "reorder of " + to_string(info.shape) + " of " + dtype_name(info.dtype) +
                                               ": not a layout of values in oneDNN");
  if (source != nullptr && target != nullptr && source->plain() != target->plain())
    return make_error(Code::unimplemented, "reorder of " + to_string(info.shape) + " from " + source->describe() +
                                               " to " + target->describe() + ": they have different dimensions");
  const Desc plain = source != nullptr   ? source->plain()
                     : target != nullptr ? target->plain()
                                         : plain_desc(info.shape.dims(), info.dtype);
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
