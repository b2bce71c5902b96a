#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/onednn/primitive_step.h"
#include "mangrove/engine/simd/finish.h"

namespace mangrove::onednn {

/// A ConvInteger or MatMulInteger of bytes x with constant weights, and what is computed on its sums before they are
/// stored: Cast to floats, Mul by scales, Add of a bias, Add of a residual, Relu or Clip; each but the Cast may be
/// missing, and without the Cast the sums are the result.
struct IntegerProduct {
  std::string x;
  ValueInfo x_info;                             // u8 or i8
  std::string x_zero = {};                      // one number, known when it runs; "": zero
  std::string weights;                          // i8
  Shape weights_shape;                          // as the node has it
  const Tensor* known_weights = nullptr;        // their values
  std::int64_t channels = 0;                    // of the result
  std::vector<std::int32_t> weight_zeros = {};  // one for each channel; empty: all are 0
  ValueInfo result;                             // i32 or f32
  bool to_floats = false;
  std::string scales = {};  // f32, one for all or one for each channel; "": 1
  std::int64_t scale_count = 0;
  std::string bias = {};      // f32, one for each channel; "": none
  std::string residual = {};  // f32, of the result's shape; "": none
  simd::Bounds bounds = {};
};

/// Nullopt where the request is no such product. Its shapes have been checked.
std::optional<IntegerProduct> find_integer_product(const KernelRequest& request);

/// What the sums of one product have met. Row r is what lies side by side in the result: all channels of one position.
struct MetBySums {
  std::int64_t rows = 0;
  std::vector<std::uint32_t> kinds{0};    // rows of one kind met the same weights: row r is kinds[r % kinds.size()]
  std::vector<std::int32_t> weight_sums;  // [kind, channel]: of the weights met
  std::vector<std::int32_t> counts;       // [kind]: elements of x met
  /// Elements of scratch space that `prepare` fills for `source_sums`. All three only where weights have zero points.
  std::int64_t prepared = 0;
  std::function<void(const std::uint8_t* x, std::int32_t* prepared, int threads)> prepare = {};
  /// Writes for each channel the sum of x that it has met in this row.
  std::function<void(const std::uint8_t* x, const std::int32_t* prepared, std::int64_t row, std::int32_t* sums)>
      source_sums = {};
};

/// A primitive that sums up u8 times i8 in i32, with the arguments DNNL_ARG_SRC, DNNL_ARG_WEIGHTS and DNNL_ARG_DST, as
/// a step that ends with the product's result. `lies`: how the result lies (and so a residual does), under dimensions
/// in which `plain` is plain; channels are innermost. Sums are exact; so is the result where it is i32.
/// Throws dnnl::error.
NodeKernels integer_product_kernels(const KernelRequest& request, const IntegerProduct& product,
                                    const dnnl::primitive_desc_base& primitive, std::vector<Argument> arguments,
                                    const Desc& lies, const Desc& plain, std::shared_ptr<const MetBySums> met);

/// Whether a primitive's i32 sums of `met` products u8 times i8 each are exact: some kernels round them to f32.
bool sums_are_exact(const dnnl::primitive_desc_base& primitive, std::int64_t met);

/// The kernels that `make` has for a product without epilogue. Throws dnnl::error where there is one, or `make` fails.
NodeKernels in_exact_floats(const KernelRequest& request, Result<NodeKernels> (*make)(const KernelRequest&));

/// The desc under which a primitive reads a source of either type: u8 (i8 is turned into it on the way).
inline Desc as_unsigned(const Desc& desc) {
  return with_type(desc, DType::u8);
}

}  // namespace mangrove::onednn
