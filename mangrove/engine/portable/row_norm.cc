#include <algorithm>
#include <cmath>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/normalizations.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/vector_ops.h"
#include "mangrove/graph/row_norm_geometry.h"

namespace mangrove::portable {
namespace {

/// visit(element of the row, its channel) for one row.
template <class Visit>
void for_each_element(const RowNormGeometry& g, Visit visit) {
  if (g.plane == 1) {  // a loop of its own, for the compiler to vectorise
    for (std::int64_t c = 0; c < g.channels; ++c) visit(c, c);
    return;
  }
  for (std::int64_t c = 0; c < g.channels; ++c) {
    for (std::int64_t i = c * g.plane; i < (c + 1) * g.plane; ++i) visit(i, c);
  }
}

/// sums[c] += the sum of term(element) over channel c in [first, last), for one row.
template <class T, class Term>
void add_to_channels(const RowNormGeometry& g, std::int64_t first, std::int64_t last, T* sums, Term term) {
  if (g.plane == 1) {
    for (std::int64_t c = first; c < last; ++c) sums[c] += term(c);
    return;
  }
  for (std::int64_t c = first; c < last; ++c) {
    sums[c] += sum_of<T>(g.plane, [&](std::int64_t i) { return term(c * g.plane + i); });
  }
}

/// Where a row's scale and bias begin.
std::int64_t first_channel(const RowNormGeometry& g, std::int64_t row) {
  return row % g.groups * g.channels;
}

/// Calls work(row) for each row; threads share them.
template <class Work>
void for_each_row(const RowNormGeometry& g, int threads, const Work& work) {
  in_parallel(g.rows, threads_for(g.rows * g.length(), threads), work);
}

constexpr const char* kRowNormMean = "mean";
constexpr const char* kRowNormInverseDeviation = "inverse deviation";

template <class T>
void forward_row(const RowNormGeometry& g, const T* x, const T* scale, const T* bias, T& mean, T& inverse, T* y) {
  const T count = static_cast<T>(g.length());
  mean = sum(g.length(), x) / count;
  inverse = T(1) / std::sqrt(squared_deviations(g.length(), x, mean) / count + static_cast<T>(g.epsilon));
  const T m = mean, factor = inverse;
  if (bias == nullptr) {
    for_each_element(g, [=](std::int64_t i, std::int64_t c) { y[i] = (x[i] - m) * factor * scale[c]; });
  } else {
    for_each_element(g, [=](std::int64_t i, std::int64_t c) { y[i] = (x[i] - m) * factor * scale[c] + bias[c]; });
  }
}

template <class T>
Step row_norm_forward_step(const KernelRequest& request, const RowNormGeometry& g) {
  const std::vector<std::string>&in = request.node.inputs, &out = request.output_names;
  const Bytes saved = g.rows * static_cast<Bytes>(sizeof(T));
  const bool training = request.mode == Mode::training;
  OperandList operands;
  operands.add(read_value(in[0]));
  operands.add(read_value(in[1]));
  operands.add(write_value(out[0]));
  const std::size_t bias_at = operands.add_if(has_input(request, 2), [&] { return read_value(in[2]); });
  const std::size_t means = operands.add_if(training, [&] { return write_saved(kRowNormMean, saved); });
  const std::size_t inverses = operands.add_if(training, [&] { return write_saved(kRowNormInverseDeviation, saved); });
  const std::size_t mean_output = operands.add_if(has_output(request, 1), [&] { return write_value(out[1]); });
  const std::size_t inverse_output = operands.add_if(has_output(request, 2), [&] { return write_value(out[2]); });
  return make_step(request, "forward", operands.take(), [=, threads = request.threads](const Buffers& buffers) {
    for_each_row(g, threads, [&](std::int64_t row) {
      const std::int64_t at = row * g.length(), channel = first_channel(g, row);
      const T* bias = buffers.as<const T>(bias_at);
      T mean = 0, inverse = 0;
      forward_row(g, buffers.as<const T>(0) + at, buffers.as<const T>(1) + channel,
                  bias == nullptr ? nullptr : bias + channel, mean, inverse, buffers.as<T>(2) + at);
      for (const std::size_t to : {means, mean_output}) {
        if (T* values = buffers.as<T>(to)) values[row] = mean;
      }
      for (const std::size_t to : {inverses, inverse_output}) {
        if (T* values = buffers.as<T>(to)) values[row] = inverse;
      }
    });
  });
}

/// With x^ = (x - mean) inverse and g = dy scale: dx = inverse (g - the row's mean of g - x^ times its mean of g x^).
template <class T>
void input_gradient_row(const RowNormGeometry& g, const T* x, const T* scale, T mean, T inverse, const T* dy, T* dx) {
  for_each_element(g, [=](std::int64_t i, std::int64_t c) { dx[i] = dy[i] * scale[c]; });
  const T count = static_cast<T>(g.length());
  const T mean_g = sum(g.length(), dx) / count;
  const T mean_gx = centred_dot(g.length(), x, mean, dx) * inverse / count;
  for (std::int64_t i = 0; i < g.length(); ++i) dx[i] = inverse * (dx[i] - mean_g - (x[i] - mean) * inverse * mean_gx);
}

/// What the gradients of one row are computed from.
template <class T>
struct BackwardRow {
  const T *x, *dy;
  T mean, inverse;
};

template <class T>
Step row_norm_backward_step(const KernelRequest& request, const RowNormGeometry& g) {
  const std::vector<std::string>& in = request.node.inputs;
  const Bytes saved = g.rows * static_cast<Bytes>(sizeof(T));
  OperandList operands;
  operands.add(read_value(in[0]));
  operands.add(read_value(in[1]));
  operands.add(read_gradient(request.output_names[0]));
  operands.add(read_saved(kRowNormMean, saved));
  operands.add(read_saved(kRowNormInverseDeviation, saved));
  const auto gradient = [&](std::size_t i) {
    return operands.add_if(wants_gradient(request, i), [&] { return write_gradient(in[i]); });
  };
  const std::size_t dx = gradient(0), dscale = gradient(1), dbias = gradient(2);
  const std::int64_t all_channels = g.groups * g.channels;
  return make_step(request, "backward", operands.take(), [=, threads = request.threads](const Buffers& buffers) {
    const auto row_of = [&](std::int64_t row) {
      const std::int64_t at = row * g.length();
      return BackwardRow<T>{.x = buffers.as<const T>(0) + at,
                            .dy = buffers.as<const T>(2) + at,
                            .mean = buffers.as<const T>(3)[row],
                            .inverse = buffers.as<const T>(4)[row]};
    };
    T *sums_of_scale = buffers.as<T>(dscale), *sums_of_bias = buffers.as<T>(dbias), *out = buffers.as<T>(dx);
    if (sums_of_scale != nullptr) std::fill_n(sums_of_scale, all_channels, T(0));
    if (sums_of_bias != nullptr) std::fill_n(sums_of_bias, all_channels, T(0));
    const std::int64_t rows_to_sum = sums_of_scale == nullptr && sums_of_bias == nullptr ? 0 : g.rows;
    const int sharing = threads_for(rows_to_sum * g.channels * g.plane, threads);
    in_ranges(g.channels, sharing, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = 0; row < rows_to_sum; ++row) {
        const BackwardRow<T> of = row_of(row);
        const std::int64_t channel = first_channel(g, row);
        if (sums_of_bias != nullptr) {
          add_to_channels(g, first, last, sums_of_bias + channel, [=](std::int64_t i) { return of.dy[i]; });
        }
        if (sums_of_scale != nullptr) {
          add_to_channels(g, first, last, sums_of_scale + channel,
                          [=](std::int64_t i) { return of.dy[i] * (of.x[i] - of.mean) * of.inverse; });
        }
      }
    });
    if (out == nullptr) return;
    for_each_row(g, threads, [&](std::int64_t row) {
      const BackwardRow<T> of = row_of(row);
      input_gradient_row(g, of.x, buffers.as<const T>(1) + first_channel(g, row), of.mean, of.inverse, of.dy,
                         out + row * g.length());
    });
  });
}

template <class T>
NodeKernels row_norm_kernels_of(const KernelRequest& request, const RowNormGeometry& g) {
  NodeKernels kernels;
  kernels.forward.push_back(row_norm_forward_step<T>(request, g));
  if (wants_gradient(request, 0) || wants_gradient(request, 1) || wants_gradient(request, 2)) {
    kernels.backward.push_back(row_norm_backward_step<T>(request, g));
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_row_norm(const KernelRequest& request) {
  MG_TRY(const RowNormGeometry geometry, row_norm_geometry(request.node, request.inputs[0].shape));
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return row_norm_kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace mangrove::portable
