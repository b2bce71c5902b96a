// ConvInteger and MatMulInteger by products of floats: as many products of bytes as f32 adds up exactly at a time. No
// processor lacks fast ones.
#include <algorithm>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/quantization.h"
#include "mangrove/engine/portable/window_rows.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/matrix_product.h"
#include "mangrove/graph/conv_geometry.h"
#include "mangrove/graph/matmul_geometry.h"

namespace mangrove::simd {
namespace {

using portable::Buffers;
using portable::PerChannel;
using Integer = std::int32_t;

// Each at most 255 * 255 (two bytes less their zero points), so that the sum stays below 2^24.
constexpr std::int64_t kExactProducts = 256;

/// x - zero as floats.
template <class X>
void widen(const X* x, Integer zero, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(x[i] - zero);
}

/// a + b, wrapped around.
Integer wrapped_sum(Integer a, Integer b) {
  return static_cast<Integer>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

void add_exact(const float* sums, std::int64_t count, Integer* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = wrapped_sum(y[i], static_cast<Integer>(sums[i]));
}

template <class X>
Integer number_or_zero(const X* value) {
  return value == nullptr ? 0 : *value;
}

/// Positions of a node's operands: x, w, their zero points, y.
struct IntegerOperands {
  explicit IntegerOperands(const KernelRequest& request) {
    const auto input = [&](std::size_t i) {
      return list.add_if(portable::has_input(request, i), [&] { return portable::read_value(request.node.inputs[i]); });
    };
    x = input(0), w = input(1), x_zero = input(2), w_zero = input(3);
    y = list.add(portable::write_value(request.output_names[0]));
    w_zeros = w_zero == portable::kNoOperand ? 0 : request.inputs[3].shape.elements();
  }

  portable::OperandList list;
  std::size_t x, w, x_zero, w_zero, y;
  std::int64_t w_zeros;
};

struct MatrixChunks {
  MatrixChunks(const MatMulGeometry& g, int threads_used)
      : m(g.m),
        k(g.k),
        n(g.n),
        a(matrices_met(g.stack_a, g.stack)),
        b(matrices_met(g.stack_b, g.stack)),
        threads(threads_used) {}

  std::int64_t depth() const { return std::min(k, kExactProducts); }
  Bytes workspace() const { return kFloatBytes * (m * depth() + depth() * n + m * n); }

  template <class A, class B>
  void multiply(const A* of_a, Integer a_zero, const B* of_b, Integer b_zero, Integer* y, float* scratch) const {
    float* const wide_a = scratch;
    float* const wide_b = wide_a + m * depth();
    float* const sums = wide_b + depth() * n;
    std::fill_n(y, m * n, 0);
    for (std::int64_t first = 0; first < k; first += depth()) {
      const std::int64_t count = std::min(depth(), k - first);
      in_ranges(m, threads_for(m * count, threads), [&](std::int64_t row, std::int64_t end) {
        for (; row < end; ++row) widen(of_a + row * k + first, a_zero, count, wide_a + row * count);
      });
      in_ranges(count, threads_for(n * count, threads), [&](std::int64_t row, std::int64_t end) {
        widen(of_b + (first + row) * n, b_zero, (end - row) * n, wide_b + row * n);
      });
      std::fill_n(sums, m * n, 0.0f);
      multiply_add(threads, m, n, count, 1, portable::matrix(wide_a, m, count), portable::matrix(wide_b, count, n),
                   sums, n);
      add_exact(sums, m * n, y);
    }
  }

  std::int64_t m, k, n;
  std::vector<std::int64_t> a, b;  // per matrix of the result
  int threads;
};

template <class A, class B>
NodeKernels matmul_kernels(const KernelRequest& request, const MatrixChunks& chunks) {
  IntegerOperands in(request);
  const Bytes workspace = chunks.workspace();
  NodeKernels kernels;
  kernels.forward.push_back(portable::make_step_with_workspace(
      request, "forward", in.list.take(), workspace, [=](const Buffers& buffers, std::byte* scratch) {
        const Integer a_zero = number_or_zero(buffers.as<const A>(in.x_zero)),
                      b_zero = number_or_zero(buffers.as<const B>(in.w_zero));
        Integer* y = buffers.as<Integer>(in.y);
        for (std::size_t i = 0; i < chunks.a.size(); ++i, y += chunks.m * chunks.n) {
          chunks.multiply(buffers.as<const A>(in.x) + chunks.a[i] * chunks.m * chunks.k, a_zero,
                          buffers.as<const B>(in.w) + chunks.b[i] * chunks.k * chunks.n, b_zero, y,
                          reinterpret_cast<float*>(scratch));
        }
      }));
  return kernels;
}

/// Positions [first, end) of an output plane, row by row.
struct PositionRange {
  std::int64_t first, end;
  std::int64_t count() const { return end - first; }
};

/// visit(const TapRow&) for every tap and output row of a block. The tap rows' outputs count from the block's start.
template <class Visit>
void for_each_tap_row_in(const Window& window, const PositionRange& block, Visit visit) {
  const std::int64_t width = window.output[1];
  for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
    const portable::TapRange rows(window, 0, tap / window.kernel[1]), columns(window, 1, tap % window.kernel[1]);
    const std::int64_t last_row = std::min(rows.last, (block.end + width - 1) / width);
    for (std::int64_t row = std::max(rows.first, block.first / width); row < last_row; ++row) {
      const std::int64_t first = std::max(row * width + columns.first, block.first),
                         end = std::min(row * width + columns.last, block.end);
      const std::int64_t input_row = row * window.strides[0] + rows.offset;
      const std::int64_t input_column = (first - row * width) * window.strides[1] + columns.offset;
      visit(portable::TapRow{.tap = tap,
                             .output = first - block.first,
                             .input = input_row * window.input[1] + input_column,
                             .count = std::max<std::int64_t>(0, end - first)});
    }
  }
}

/// A convolution as products of weights and what the windows cover, some positions and input channels at a time.
struct WindowChunks {
  ConvGeometry g;
  int threads;

  std::int64_t positions() const { return g.window.output_plane(); }
  std::int64_t weights_each() const { return g.input_channels_per_group() * g.window.taps(); }
  std::int64_t channels_at_once() const {
    return std::min(g.input_channels_per_group(), kExactProducts / g.window.taps());
  }
  /// So many that columns and sums stay in the second-level cache, but enough to be worth a product.
  std::int64_t positions_at_once() const {
    constexpr std::int64_t kElements = MiB(1) / kFloatBytes, kLeast = 64;
    const std::int64_t each = channels_at_once() * g.window.taps() + g.output_channels_per_group();
    return std::min(positions(), std::max(kLeast, kElements / each));
  }
  std::int64_t column_elements() const { return channels_at_once() * g.window.taps() * positions_at_once(); }
  Bytes workspace() const {
    return kFloatBytes * (g.output_channels * weights_each() + column_elements() +
                          g.output_channels_per_group() * positions_at_once());
  }

  /// Columns [channel, tap, position of the block] of x - zero, with 0 for padding.
  template <class X>
  void gather(const X* x, Integer zero, std::int64_t channels, const PositionRange& block, float* columns) const {
    const std::int64_t each = g.window.taps() * block.count(), step = g.window.strides[1];
    in_parallel(channels, threads_for(channels * each, threads), [&](std::int64_t c) {
      float* const of_channel = columns + c * each;
      const X* const plane = x + c * g.window.input_plane();
      std::fill_n(of_channel, each, 0.0f);
      for_each_tap_row_in(g.window, block, [&](const portable::TapRow& row) {
        float* const out = of_channel + row.tap * block.count() + row.output;
        for (std::int64_t i = 0; i < row.count; ++i) out[i] = static_cast<float>(plane[row.input + i * step] - zero);
      });
    });
  }

  /// Adds a block of one group of one image to y. w: [output channel, weights_each()] of the group.
  template <class X>
  void convolve(const X* x, Integer zero, const float* w, const PositionRange& block, float* columns, float* sums,
                Integer* y) const {
    const std::int64_t outputs = g.output_channels_per_group(), inputs = g.input_channels_per_group();
    const std::int64_t count = block.count();
    for (std::int64_t first = 0; first < inputs; first += channels_at_once()) {
      const std::int64_t channels = std::min(channels_at_once(), inputs - first), depth = channels * g.window.taps();
      gather(x + first * g.window.input_plane(), zero, channels, block, columns);
      std::fill_n(sums, outputs * count, 0.0f);
      multiply_add(threads, outputs, count, depth, 1,
                   portable::Matrix<float>{w + first * g.window.taps(), weights_each(), 1},
                   portable::matrix(columns, depth, count), sums, count);
      for (std::int64_t m = 0; m < outputs; ++m) add_exact(sums + m * count, count, y + m * positions() + block.first);
    }
  }

  template <class X>
  void convolve_all(const X* x, Integer zero, const float* w, float* scratch, Integer* y) const {
    const std::int64_t outputs = g.output_channels_per_group();
    float* const sums = scratch + column_elements();
    for (std::int64_t image = 0; image < g.batch; ++image) {
      for (std::int64_t group = 0; group < g.group; ++group) {
        const std::int64_t in = (image * g.group + group) * g.input_channels_per_group() * g.window.input_plane();
        const std::int64_t out = (image * g.group + group) * outputs * positions();
        std::fill_n(y + out, outputs * positions(), 0);
        for (std::int64_t first = 0; first < positions(); first += positions_at_once()) {
          const PositionRange block{first, std::min(first + positions_at_once(), positions())};
          convolve(x + in, zero, w + group * outputs * weights_each(), block, scratch, sums, y + out);
        }
      }
    }
  }
};

template <class X, class W>
NodeKernels conv_kernels(const KernelRequest& request, const WindowChunks& chunks) {
  IntegerOperands in(request);
  NodeKernels kernels;
  kernels.forward.push_back(portable::make_step_with_workspace(
      request, "forward", in.list.take(), chunks.workspace(), [=](const Buffers& buffers, std::byte* scratch) {
        const PerChannel<W> zeros{buffers.as<const W>(in.w_zero), in.w_zeros};
        const std::int64_t channels = chunks.g.output_channels, each = chunks.weights_each();
        float* const weights = reinterpret_cast<float*>(scratch);
        for (std::int64_t m = 0; m < channels; ++m) {
          widen(buffers.as<const W>(in.w) + m * each, zeros[m], each, weights + m * each);
        }
        chunks.convolve_all(buffers.as<const X>(in.x), number_or_zero(buffers.as<const X>(in.x_zero)), weights,
                            weights + channels * each, buffers.as<Integer>(in.y));
      }));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_integer_matmul(const KernelRequest& request) {
  MG_TRY(const MatMulGeometry geometry, matmul_geometry(request.inputs[0].shape, request.inputs[1].shape));
  const MatrixChunks chunks(with_tall_a(geometry), request.threads);
  return portable::for_byte_types(
      request.inputs[0].dtype, request.inputs[1].dtype,
      [&](auto a, auto b) -> Result<NodeKernels> { return matmul_kernels<decltype(a), decltype(b)>(request, chunks); });
}

Result<NodeKernels> make_integer_conv(const KernelRequest& request) {
  MG_TRY(const ConvGeometry geometry, conv_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape));
  if (geometry.window.taps() > kExactProducts)
    return make_error(Code::unimplemented, "node '" + request.node.name + "' (ConvInteger): a window of " +
                                               std::to_string(geometry.window.taps()) + " taps; at most " +
                                               std::to_string(kExactProducts));
  const WindowChunks chunks{geometry, request.threads};
  return portable::for_byte_types(
      request.inputs[0].dtype, request.inputs[1].dtype,
      [&](auto x, auto w) -> Result<NodeKernels> { return conv_kernels<decltype(x), decltype(w)>(request, chunks); });
}

}  // namespace mangrove::simd
