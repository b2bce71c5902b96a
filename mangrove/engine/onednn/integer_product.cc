#include "mangrove/engine/onednn/integer_product.h"

#include <algorithm>
#include <string_view>

#include "mangrove/engine/fused_node.h"
#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/onednn/byte_support.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/simd/byte_loops.h"

namespace mangrove::onednn {
namespace {

constexpr std::int64_t kFloatType = 1;                   // of ONNX's TensorProto
constexpr auto kNothing = static_cast<std::size_t>(-1);  // in place of an operand

bool is_convolution(const KernelRequest& request) {
  return request.node.op == "ConvInteger";
}

/// The zero points of the weights by channel, empty where all are 0; nullopt where they are not known, or another
/// number of them.
std::optional<std::vector<std::int32_t>> known_weight_zeros(const KernelRequest& request, std::int64_t channels) {
  constexpr std::size_t kInput = 3;
  if (!has_input(request, kInput)) return std::vector<std::int32_t>();
  const Tensor* zeros = request.constants[kInput];
  if (zeros == nullptr || zeros->dtype() != DType::i8) return std::nullopt;
  if (zeros->elements() != 1 && zeros->elements() != channels) return std::nullopt;
  const auto values = zeros->as<std::int8_t>();
  if (std::ranges::all_of(values, [](std::int8_t zero) { return zero == 0; })) return std::vector<std::int32_t>();
  std::vector<std::int32_t> all(values.begin(), values.end());
  all.resize(static_cast<std::size_t>(channels), all[0]);
  return all;
}

/// Whether a value of this shape has one number for each channel of a result, which has them in dimension `axis`.
bool is_by_channel(const ValueInfo& value, const Shape& result, std::size_t axis) {
  if (value.dtype != DType::f32 || value.shape.rank() > result.rank()) return false;
  const std::size_t missing = result.rank() - value.shape.rank();
  if (axis < missing) return false;
  for (std::size_t i = 0; i < value.shape.rank(); ++i) {
    if (value.shape[i] != (i + missing == axis ? result[axis] : 1)) return false;
  }
  return true;
}

bool is_number(const ValueInfo& value, const Shape& result) {
  return value.dtype == DType::f32 && value.shape.elements() == 1 && value.shape.rank() <= result.rank();
}

/// Reads the nodes behind a product one after another.
class EpilogueReader {
 public:
  EpilogueReader(const KernelRequest& request, IntegerProduct& product)
      : nodes_(request.epilogue), product_(product), is_convolution_(is_convolution(request)) {}

  /// False where there is anything that is not computed with the product.
  bool read() {
    if (nodes_.empty()) return true;
    if (nodes_[0].node.op != "Cast" || nodes_[0].node.int_or("to", kFloatType) != kFloatType) return false;
    product_.to_floats = true;
    ++next_;
    read_scales();
    read_bias();
    read_residual();
    read_bounds();
    return next_ == nodes_.size();
  }

 private:
  bool is(std::string_view op) const { return next_ < nodes_.size() && nodes_[next_].node.op == op; }
  const FusedNode& node() const { return nodes_[next_]; }
  std::size_t other() const { return 1 - node().input; }
  const Shape& result() const { return node().inputs[node().input].shape; }
  bool other_is_by_channel() const {
    return is_by_channel(node().inputs[other()], result(), is_convolution_ ? 1 : result().rank() - 1);
  }

  void read_scales() {
    if (!is("Mul")) return;
    const ValueInfo& scales = node().inputs[other()];
    if (!is_number(scales, result()) && !other_is_by_channel()) return;
    product_.scales = node().node.inputs[other()];
    product_.scale_count = scales.shape.elements();
    ++next_;
  }
  void read_bias() {
    if (!is("Add") || !other_is_by_channel()) return;
    product_.bias = node().node.inputs[other()];
    ++next_;
  }
  void read_residual() {
    if (!is("Add") || !is_residual(node()) || node().inputs[other()].dtype != DType::f32) return;
    product_.residual = node().node.inputs[other()];
    ++next_;
  }
  void read_bounds() {
    if (is("Relu")) {
      product_.bounds.low = 0;
      ++next_;
    } else if (is("Clip") && node().input == 0) {
      const auto bounds = clip_bounds(node().node, node().constants);
      if (!bounds) return;
      product_.bounds = {.low = bounds->low, .high = bounds->high};
      ++next_;
    }
  }

  const std::vector<FusedNode>& nodes_;
  IntegerProduct& product_;
  bool is_convolution_;
  std::size_t next_ = 0;
};

bool is_byte_type(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8;
}

/// How many products one sum has.
std::int64_t depth_of(const KernelRequest& request, const Shape& weights) {
  return is_convolution(request) ? weights.elements() / std::max<std::int64_t>(weights[0], 1)
                                 : weights[weights.rank() - 2];
}

/// Where the operands lie that only the end of a step reads, and its scratch space.
struct FinishBuffers {
  const std::uint8_t* x = nullptr;
  const std::byte* x_zero = nullptr;  // one of x's own type; null: zero
  const float *scales = nullptr, *bias = nullptr, *residual = nullptr;
  std::int32_t* sums = nullptr;
  std::int32_t* prepared = nullptr;
  std::int32_t* rows = nullptr;  // of source sums, one for each thread
  float* all_scales = nullptr;   // one for each channel
};

/// The part of a step behind the primitive.
struct SumsEnd {
  IntegerProduct product;
  std::shared_ptr<const MetBySums> met;
  int threads;

  bool flips() const { return product.x_info.dtype == DType::i8; }
  std::int32_t x_zero(const FinishBuffers& at) const {
    constexpr std::int32_t kFlip = 128;
    if (!flips()) return at.x_zero == nullptr ? 0 : std::to_integer<std::uint8_t>(*at.x_zero);
    return kFlip + (at.x_zero == nullptr ? 0 : *reinterpret_cast<const std::int8_t*>(at.x_zero));
  }
  void run(const FinishBuffers& at) const;
  void run_rows(const FinishBuffers& at, std::int64_t first, std::int64_t last, std::int32_t* source_sums) const;
};

void SumsEnd::run(const FinishBuffers& at) const {
  if (product.to_floats) {
    if (product.scale_count <= 1) std::fill_n(at.all_scales, product.channels, at.scales != nullptr ? *at.scales : 1);
    if (product.scale_count > 1) std::copy_n(at.scales, product.channels, at.all_scales);
  }
  if (met->prepare) met->prepare(at.x, at.prepared, threads);
  const int sharing = threads_for(met->rows * product.channels, threads);
  in_parallel(sharing, sharing, [&](std::int64_t i) {
    run_rows(at, met->rows * i / sharing, met->rows * (i + 1) / sharing, at.rows + i * product.channels);
  });
}

void SumsEnd::run_rows(const FinishBuffers& at, std::int64_t first, std::int64_t last,
                       std::int32_t* source_sums) const {
  const simd::ByteLoops& loops = simd::byte_loops();
  const std::int64_t channels = product.channels;
  simd::SumsFinish finish{.weight_sums = nullptr, .x_zero = x_zero(at), .bias = at.bias, .bounds = product.bounds};
  if (product.to_floats) finish.scales = at.all_scales;
  if (!product.weight_zeros.empty()) finish.weight_zeros = product.weight_zeros.data();
  finish.source_sums = source_sums;
  for (std::int64_t row = first; row < last; ++row) {
    const std::uint32_t kind = met->kinds[static_cast<std::size_t>(row) % met->kinds.size()];
    finish.weight_sums = met->weight_sums.data() + kind * channels;
    if (finish.weight_zeros != nullptr) {
      met->source_sums(at.x, at.prepared, row, source_sums);
      const std::int32_t of_zero = finish.x_zero * met->counts[kind];
      for (std::int64_t j = 0; j < channels; ++j) source_sums[j] -= of_zero;
    }
    if (at.residual != nullptr) finish.residual = at.residual + row * channels;
    std::int32_t* const sums = at.sums + row * channels;
    loops.finish(channels, sums, finish, sums);
  }
}

/// Turns i8 into u8 that are 128 greater.
void flip_signs(const std::byte* x, std::int64_t count, std::uint8_t* y, int threads) {
  in_ranges(count, threads_for(count, threads), [&](std::int64_t first, std::int64_t last) {
    constexpr std::byte kSign{0x80};
    for (std::int64_t i = first; i < last; ++i) y[i] = std::to_integer<std::uint8_t>(x[i] ^ kSign);
  });
}

/// Offsets of what lies in a step's workspace one after another.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(Bytes start) : end_(start) {}
  Bytes add(Bytes bytes) {
    constexpr Bytes kAlignment = 64;
    const Bytes start = (end_ + kAlignment - 1) / kAlignment * kAlignment;
    end_ = start + bytes;
    return start;
  }
  Bytes end() const { return end_; }

 private:
  Bytes end_;
};

}  // namespace

std::optional<IntegerProduct> find_integer_product(const KernelRequest& request) {
  constexpr std::size_t kWeights = 1, kZero = 2;
  const Tensor* weights = request.constants[kWeights];
  if (request.mode == Mode::training || weights == nullptr || weights->dtype() != DType::i8) return std::nullopt;
  if (!is_byte_type(request.inputs[0].dtype) || weights->shape().rank() < 2) return std::nullopt;
  if (has_input(request, kZero) && request.inputs[kZero].shape.elements() != 1) return std::nullopt;
  const Shape& shape = weights->shape();
  constexpr std::int64_t kDeepest = 1 << 23;  // what zero points change about a sum of more does not fit into i32
  if (depth_of(request, shape) > kDeepest) return std::nullopt;
  IntegerProduct product{.x = request.node.inputs[0],
                         .x_info = request.inputs[0],
                         .x_zero = has_input(request, kZero) ? request.node.inputs[kZero] : "",
                         .weights = request.node.inputs[kWeights],
                         .weights_shape = shape,
                         .known_weights = weights,
                         .channels = is_convolution(request) ? shape[0] : shape[shape.rank() - 1],
                         .result = request.outputs[0]};
  auto zeros = known_weight_zeros(request, product.channels);
  if (!zeros) return std::nullopt;
  product.weight_zeros = *std::move(zeros);
  if (!EpilogueReader(request, product).read()) return std::nullopt;
  return product;
}

bool integer_product_fuses(const KernelRequest& request) {
  return computes_byte_products() && find_integer_product(request).has_value();
}

bool integer_product_supported(const KernelRequest& request) {
  return request.mode == Mode::inference && (request.epilogue.empty() || integer_product_fuses(request));
}

NodeKernels in_exact_floats(const KernelRequest& request, Result<NodeKernels> (*make)(const KernelRequest&)) {
  if (!request.epilogue.empty()) throw dnnl::error(dnnl_unimplemented, "only its product has a kernel");
  auto kernels = make(request);
  if (!kernels.ok()) throw dnnl::error(dnnl_unimplemented, "it has no exact kernel");
  return *std::move(kernels);
}

bool sums_are_exact(const dnnl::primitive_desc_base& primitive, std::int64_t met) {
  constexpr std::int64_t kExactFloats = 1 << 24, kLargestProduct = std::int64_t{255} * 128;
  return std::string_view(primitive.impl_info_str()).starts_with("br") || met * kLargestProduct <= kExactFloats;
}

NodeKernels integer_product_kernels(const KernelRequest& request, const IntegerProduct& product,
                                    const dnnl::primitive_desc_base& primitive, std::vector<Argument> arguments,
                                    const Desc& lies, const Desc& plain, std::shared_ptr<const MetBySums> met) {
  const std::string& node = request.node.name;
  Step step = primitive_step(primitive, node + " forward", node, std::move(arguments));
  const std::size_t of_primitive = step.operands.size();
  const auto read = [&](const std::string& name, const Desc& desc, const Desc& of_plain) {
    if (name.empty()) return kNothing;
    step.operands.push_back(read_value(0, {name, of_plain}, desc).operand);
    return step.operands.size() - 1;
  };
  const Desc numbers = plain_desc({1});
  const std::size_t x_zero = read(product.x_zero, numbers, numbers), scales = read(product.scales, numbers, numbers),
                    bias = read(product.bias, numbers, numbers), residual = read(product.residual, lies, plain);
  SumsEnd end{product, std::move(met), request.threads};
  end.product.known_weights = nullptr;  // the graph may be gone when the step runs
  WorkspaceParts parts(step.workspace);
  const std::int64_t x_elements = product.x_info.shape.elements(), channels = product.channels;
  const Bytes flipped = parts.add(end.flips() ? x_elements : 0),
              all_scales = parts.add(product.to_floats ? channels * kFloatBytes : 0),
              prepared = parts.add(end.met->prepared * static_cast<Bytes>(sizeof(std::int32_t))),
              rows = parts.add(product.weight_zeros.empty() ? 0 : request.threads * channels * kFloatBytes);
  step.workspace = parts.end();
  step.bind = [=, bind = std::move(step.bind)](std::span<std::byte* const> buffers,
                                               std::byte* workspace) -> Step::Bound {
    const auto at = [&](std::size_t operand) { return operand == kNothing ? nullptr : buffers[operand]; };
    const auto floats = [&](std::size_t operand) { return reinterpret_cast<const float*>(at(operand)); };
    const auto integers = [&](Bytes offset) { return reinterpret_cast<std::int32_t*>(workspace + offset); };
    std::vector<std::byte*> given(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(of_primitive));
    const std::byte* const x = given[0];
    if (end.flips()) given[0] = workspace + flipped;
    const FinishBuffers bound{.x = reinterpret_cast<const std::uint8_t*>(given[0]),
                              .x_zero = at(x_zero),
                              .scales = floats(scales),
                              .bias = floats(bias),
                              .residual = floats(residual),
                              .sums = reinterpret_cast<std::int32_t*>(given[2]),
                              .prepared = integers(prepared),
                              .rows = integers(rows),
                              .all_scales = reinterpret_cast<float*>(workspace + all_scales)};
    return [=, sum_up = bind(given, workspace)] {
      if (end.flips()) flip_signs(x, x_elements, const_cast<std::uint8_t*>(bound.x), end.threads);
      sum_up();
      end.run(bound);
    };
  };
  NodeKernels kernels;
  kernels.forward.push_back(std::move(step));
  return kernels;
}

}  // namespace mangrove::onednn
