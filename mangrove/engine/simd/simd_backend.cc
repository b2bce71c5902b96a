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
  bool (*fuses)(const KernelRequest&);  // null: nothing
};

constexpr std::array kSimdRows{
    SimdRow{"BatchNormalization", simd::make_batch_norm, simd::batch_norm_fuses},
    SimdRow{"Conv", simd::make_convolution, simd::convolution_fuses},
    SimdRow{"ConvTranspose", simd::make_convolution, simd::convolution_fuses},
    SimdRow{"GRU", simd::make_recurrent, nullptr},
    SimdRow{"Gemm", simd::make_gemm, nullptr},
    SimdRow{"LSTM", simd::make_recurrent, nullptr},
    SimdRow{"MatMul", simd::make_matmul, nullptr},
    SimdRow{"RNN", simd::make_recurrent, nullptr},
    SimdRow{"Sigmoid", simd::make_sigmoid, nullptr},
    SimdRow{"Tanh", simd::make_tanh, nullptr},
};

const SimdRow* find_simd_row(std::string_view op) {
  const auto* row = std::ranges::find(kSimdRows, op, &SimdRow::op);
  return row == kSimdRows.end() ? nullptr : row;
}

bool is_floats(const ValueInfo& info) {
  return info.dtype == DType::f32 && info.shape.elements() > 0;
}

std::string layout_name(const LayoutPtr& layout) {
  return layout ? layout->describe() : "plain";
}

class SimdBackend final : public Backend {
 public:
  std::string_view name() const override { return "simd"; }

  bool supports(const KernelRequest& request) const override {
    if (find_simd_row(request.node.op) == nullptr || !std::ranges::all_of(request.outputs, is_floats)) return false;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {  // those that are known (lengths, say) no step reads
      const bool is_read = portable::has_input(request, i) && request.constants[i] == nullptr;
      if (is_read && !is_floats(request.inputs[i])) return false;
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
