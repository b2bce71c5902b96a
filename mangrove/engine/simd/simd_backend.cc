#include "mangrove/engine/simd/simd_backend.h"

#include <omp.h>

#include <algorithm>
#include <array>

#include "mangrove/engine/flush_denormals.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/packed_weights.h"

namespace mangrove {
namespace {

struct SimdRow {
  std::string_view op;
  Result<NodeKernels> (*make)(const KernelRequest&);
  bool (*fuses)(const KernelRequest&);                          // null: nothing
  enum class Types { floats, integers } types = Types::floats;  // integers: in or out, as ONNX has the operator
};

constexpr std::array kSimdRows{
    SimdRow{"BatchNormalization", simd::make_batch_norm, simd::batch_norm_fuses},
    SimdRow{"Conv", simd::make_convolution, simd::convolution_fuses},
    SimdRow{"ConvTranspose", simd::make_convolution, simd::convolution_fuses},
    SimdRow{"ConvInteger", simd::make_integer_conv, nullptr, SimdRow::Types::integers},
    SimdRow{"DynamicQuantizeLinear", simd::make_plain_dynamic_quantize, nullptr, SimdRow::Types::integers},
    SimdRow{"GRU", simd::make_recurrent, nullptr},
    SimdRow{"Gemm", simd::make_gemm, nullptr},
    SimdRow{"LSTM", simd::make_recurrent, nullptr},
    SimdRow{"MatMul", simd::make_matmul, nullptr},
    SimdRow{"MatMulInteger", simd::make_integer_matmul, nullptr, SimdRow::Types::integers},
    SimdRow{"RNN", simd::make_recurrent, nullptr},
    SimdRow{"Sigmoid", simd::make_sigmoid, nullptr},
    SimdRow{"Tanh", simd::make_tanh, nullptr},
};

const SimdRow* find_simd_row(std::string_view op) {
  const auto* row = std::ranges::find(kSimdRows, op, &SimdRow::op);
  return row == kSimdRows.end() ? nullptr : row;
}

bool has_type(const ValueInfo& info, SimdRow::Types types) {
  return (types == SimdRow::Types::integers || info.dtype == DType::f32) && info.shape.elements() > 0;
}

std::string layout_name(const LayoutPtr& layout) {
  return layout ? layout->describe() : "plain";
}

class SimdBackend final : public Backend {
 public:
  std::string_view name() const override { return "simd"; }

  bool supports(const KernelRequest& request) const override {
    const SimdRow* row = find_simd_row(request.node.op);
    if (row == nullptr) return false;
    const auto has_its_type = [row](const ValueInfo& info) { return has_type(info, row->types); };
    if (!std::ranges::all_of(request.outputs, has_its_type)) return false;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {  // those that are known (lengths, say) no step reads
      const bool is_read = portable::has_input(request, i) && request.constants[i] == nullptr;
      if (is_read && !has_its_type(request.inputs[i])) return false;
    }
    return (request.epilogue.empty() || fuses(request)) && make_kernels(request).ok();
  }

  bool fuses(const KernelRequest& request) const override {
    const SimdRow* row = find_simd_row(request.node.op);
    return row != nullptr && row->fuses != nullptr && row->fuses(request);
  }

  Result<NodeKernels> make_kernels(const KernelRequest& request) const override {
    return find_simd_row(request.node.op)->make(request);
  }

  Result<Step> make_reorder(const ValueInfo& info, const LayoutPtr& from, const LayoutPtr& to) const override {
    const auto packed = std::dynamic_pointer_cast<const simd::PackedWeights>(to ? to : from);
    if (packed == nullptr || (from && to))
      return make_error(Code::unimplemented, "reorder of " + to_string(info.shape) + " from " + layout_name(from) +
                                                 " to " + layout_name(to) + ": only weights lie packed");
    Step step;
    step.name = "reorder";
    step.operands = {portable::read_value(""), portable::write_value("")};
    step.operands[0].layout = from;
    step.operands[1].layout = to;
    step.bind = [packed, packs = static_cast<bool>(to)](std::span<std::byte* const> buffers,
                                                        std::byte*) -> Step::Bound {
      const portable::Buffers bound(buffers);
      return [packed, packs, bound] {
        packs ? packed->pack(bound.as<const float>(0), bound.as<float>(1))
              : packed->unpack(bound.as<const float>(0), bound.as<float>(1));
      };
    };
    return step;
  }

  void prepare_thread(int threads) const override {
    omp_set_num_threads(threads);
    flush_denormals(threads);
  }
};

}  // namespace

std::shared_ptr<const Backend> make_simd_backend() {
  return std::make_shared<SimdBackend>();
}

}  // namespace mangrove
