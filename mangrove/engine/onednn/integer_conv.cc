#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/onednn/conv_algorithm.h"
#include "mangrove/engine/onednn/integer_product.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/simd/byte_loops.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/graph/conv_geometry.h"

namespace mangrove::onednn {
namespace {

/// Taps [first, last) of a window along one axis lie inside the input: tap t at start + t dilation.
struct TapsInside {
  std::int64_t first, last;
  auto operator<=>(const TapsInside&) const = default;
};

TapsInside taps_inside(const Window& w, std::size_t axis, std::int64_t position) {
  const std::int64_t start = position * w.strides[axis] - w.pads_begin[axis], dilation = w.dilations[axis];
  const std::int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const std::int64_t last =
      start >= w.input[axis] ? 0 : std::min(w.kernel[axis], (w.input[axis] - start + dilation - 1) / dilation);
  return {std::min(first, std::max<std::int64_t>(last, 0)), std::max<std::int64_t>(last, 0)};
}

/// The positions along one axis by which taps lie inside the input.
struct AxisKinds {
  AxisKinds(const Window& window, std::size_t axis) {
    std::map<TapsInside, std::uint32_t> known;
    for (std::int64_t position = 0; position < window.output[axis]; ++position) {
      const TapsInside taps = taps_inside(window, axis, position);
      const auto [found, is_new] = known.emplace(taps, static_cast<std::uint32_t>(kinds.size()));
      if (is_new) kinds.push_back(taps);
      of.push_back(found->second);
    }
  }
  std::vector<TapsInside> kinds;
  std::vector<std::uint32_t> of;  // by position
};

/// Sums over the taps above and to the left of a corner, of the weights of one output channel: [kernel height + 1,
/// kernel width + 1].
std::vector<std::int32_t> corner_sums(const Window& window, const std::int8_t* weights, std::int64_t channels) {
  const std::int64_t height = window.kernel[0], width = window.kernel[1], stride = width + 1;
  std::vector<std::int32_t> sums(static_cast<std::size_t>((height + 1) * stride), 0);
  const auto at = [&](std::int64_t row, std::int64_t column) -> std::int32_t& {
    return sums[static_cast<std::size_t>(row * stride + column)];
  };
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) at(i + 1, j + 1) += *weights++;
    }
  }
  for (std::int64_t i = 1; i <= height; ++i) {
    for (std::int64_t j = 1; j <= width; ++j) at(i, j) += at(i - 1, j) + at(i, j - 1) - at(i - 1, j - 1);
  }
  return sums;
}

/// Sums of x by the windows of a convolution, of images that lie channels last.
struct WindowSums {
  ConvGeometry g;

  /// Sums over the channels of each group: [image, row, column, group].
  void prepare(const std::uint8_t* x, std::int32_t* sums, int threads) const {
    const std::int64_t channels = g.input_channels_per_group();
    const std::int64_t count = g.batch * g.window.input_plane() * g.group;
    in_ranges(count, threads_for(count * channels, threads), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) sums[i] = simd::byte_loops().sum(channels, x + i * channels);
    });
  }

  /// The sum that each output channel has met at one position.
  void at_position(const std::uint8_t* x, const std::int32_t* by_group, std::int64_t position,
                   std::int32_t* sums) const {
    const Window& w = g.window;
    const std::int64_t image = position / w.output_plane(), in_image = position % w.output_plane();
    const std::int64_t row = in_image / w.output[1], column = in_image % w.output[1];
    const TapsInside rows = taps_inside(w, 0, row), columns = taps_inside(w, 1, column);
    std::fill_n(sums, g.group, 0);
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      const std::int64_t y = row * w.strides[0] - w.pads_begin[0] + i * w.dilations[0];
      for (std::int64_t j = columns.first; j < columns.last; ++j) {
        const std::int64_t across = column * w.strides[1] - w.pads_begin[1] + j * w.dilations[1];
        const std::int64_t pixel = ((image * w.input[0] + y) * w.input[1] + across) * g.group;
        if (by_group == nullptr) {
          simd::byte_loops().add(g.group, x + pixel, sums);
        } else {
          for (std::int64_t k = 0; k < g.group; ++k) sums[k] += by_group[pixel + k];
        }
      }
    }
    spread(sums);
  }

  /// From one number each group to one each output channel, in place.
  void spread(std::int32_t* sums) const {
    const std::int64_t each = g.output_channels_per_group();
    if (each == 1) return;
    for (std::int64_t k = g.group; k-- > 0;) std::fill_n(sums + k * each, each, sums[k]);
  }
};

std::shared_ptr<const MetBySums> met_by_windows(const ConvGeometry& g, const IntegerProduct& product) {
  const Window& window = g.window;
  const AxisKinds rows(window, 0), columns(window, 1);
  const std::int64_t channels = g.input_channels_per_group(), all = g.output_channels;
  auto met = std::make_shared<MetBySums>();
  met->rows = g.batch * window.output_plane();
  met->kinds.clear();
  for (const std::uint32_t row : rows.of) {
    for (const std::uint32_t column : columns.of) {
      met->kinds.push_back(row * static_cast<std::uint32_t>(columns.kinds.size()) + column);
    }
  }
  for (const TapsInside& i : rows.kinds) {
    for (const TapsInside& j : columns.kinds) {
      met->counts.push_back(static_cast<std::int32_t>((i.last - i.first) * (j.last - j.first) * channels));
    }
  }
  met->weight_sums.resize(met->counts.size() * static_cast<std::size_t>(all));
  const std::int8_t* const weights = product.known_weights->as<std::int8_t>().data();
  for (std::int64_t m = 0; m < all; ++m) {
    const auto sums = corner_sums(window, weights + m * channels * window.taps(), channels);
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return sums[static_cast<std::size_t>(row * (window.kernel[1] + 1) + column)];
    };
    std::size_t kind = 0;
    for (const TapsInside& i : rows.kinds) {
      for (const TapsInside& j : columns.kinds) {
        met->weight_sums[kind++ * static_cast<std::size_t>(all) + static_cast<std::size_t>(m)] =
            at(i.last, j.last) - at(i.first, j.last) - at(i.last, j.first) + at(i.first, j.first);
      }
    }
  }
  if (product.weight_zeros.empty()) return met;
  const WindowSums of{g};
  if (channels > 1) {
    met->prepared = g.batch * window.input_plane() * g.group;
    met->prepare = [of](const std::uint8_t* x, std::int32_t* sums, int threads) { of.prepare(x, sums, threads); };
  }
  met->source_sums = [of, channels](const std::uint8_t* x, const std::int32_t* prepared, std::int64_t row,
                                    std::int32_t* sums) {
    of.at_position(x, channels > 1 ? prepared : nullptr, row, sums);
  };
  return met;
}

// Images lie channels last, as those of a convolution with known scales do. oneDNN pads with bytes 0 and knows no zero
// points here: what they change is made up for on the sums, so that those are exact.
std::optional<NodeKernels> on_bytes(const dnnl::engine& engine, const KernelRequest& request,
                                    const IntegerProduct& product) {
  const ConvGeometry geometry = conv_geometry(request.node, product.x_info.shape, product.weights_shape).value();
  const ConvShape shape = conv_shape(request.node, product.x_info.shape, product.weights_shape);
  const Desc src = channels_last_desc(shape.src, product.x_info.dtype),
             sums = channels_last_desc(shape.dst, DType::i32), lies = with_type(sums, product.result.dtype),
             plain = plain_desc(shape.dst, product.result.dtype);
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, as_unsigned(src),
       any_desc(shape.weights, DType::i8), sums, shape.strides, shape.dilations, shape.pads_begin, shape.pads_end},
      user_scratchpad(), engine, /*allow_empty=*/true);
  const std::int64_t met = geometry.input_channels_per_group() * geometry.window.taps();
  if (!forward || !is_generated(forward) || !sums_are_exact(forward, met)) return std::nullopt;
  std::vector<Argument> arguments{
      read_value(DNNL_ARG_SRC, {product.x, plain_desc(shape.src, product.x_info.dtype)}, src),
      read_value(DNNL_ARG_WEIGHTS, {product.weights, plain_desc(shape.weights, DType::i8)}, forward.weights_desc()),
      write_value(DNNL_ARG_DST, {request.output_names[0], plain}, lies)};
  arguments[0].desc = as_unsigned(src);
  arguments[2].desc = sums;
  return integer_product_kernels(request, product, forward, std::move(arguments), lies, plain,
                                 met_by_windows(geometry, product));
}

}  // namespace

NodeKernels make_integer_conv(const dnnl::engine& engine, const KernelRequest& request) {
  if (integer_product_fuses(request)) {
    if (auto kernels = on_bytes(engine, request, *find_integer_product(request))) return *std::move(kernels);
  }
  return in_exact_floats(request, simd::make_integer_conv);
}

}  // namespace mangrove::onednn
