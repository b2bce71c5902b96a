#include <cmath>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/normalizations.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/vector_ops.h"
#include "mangrove/graph/batch_norm_geometry.h"

namespace mangrove::portable {
namespace {

/// visit(offset of the plane) for each sample's plane of channel c.
template <class Visit>
void for_each_plane(const BatchNormGeometry& g, std::int64_t c, Visit visit) {
  for (std::int64_t n = 0; n < g.batch; ++n) visit((n * g.channels + c) * g.plane);
}

/// Mean and (biased) variance of one channel.
template <class T>
struct Statistics {
  T mean = 0;
  T variance = 0;
};

template <class T>
Statistics<T> statistics_of(const BatchNormGeometry& g, std::int64_t c, const T* x) {
  const T count = static_cast<T>(g.batch * g.plane);
  Statistics<T> result;
  for_each_plane(g, c, [&](std::int64_t at) { result.mean += sum(g.plane, x + at); });
  result.mean /= count;
  for_each_plane(g, c, [&](std::int64_t at) { result.variance += squared_deviations(g.plane, x + at, result.mean); });
  result.variance /= count;
  return result;
}

/// y = scale (x - mean) inverse_deviation + bias for one channel.
template <class T>
void normalize(const BatchNormGeometry& g, std::int64_t c, const T* x, T mean, T factor, T bias, T* y) {
  for_each_plane(g, c, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + g.plane; ++i) y[i] = (x[i] - mean) * factor + bias;
  });
}

template <class T>
T inverse_deviation(T variance, const BatchNormGeometry& g) {
  return T(1) / std::sqrt(variance + static_cast<T>(g.epsilon));
}

template <class T>
Step inference_step(const KernelRequest& request, const BatchNormGeometry& g) {
  const std::vector<std::string>& in = request.node.inputs;
  OperandList operands;
  for (const std::string& name : in) operands.add(read_value(name));
  const std::size_t y = operands.add(write_value(request.output_names[0]));
  const std::size_t mean =
      operands.add_if(has_output(request, 1), [&] { return write_value(request.output_names[1]); });
  const std::size_t variance =
      operands.add_if(has_output(request, 2), [&] { return write_value(request.output_names[2]); });
  Step step = make_step(request, "forward", operands.take(), [=, threads = request.threads](const Buffers& buffers) {
    in_parallel(g.channels, threads, [&](std::int64_t c) {
      const Statistics<T> running{buffers.as<const T>(3)[c], buffers.as<const T>(4)[c]};
      normalize(g, c, buffers.as<const T>(0), running.mean,
                buffers.as<const T>(1)[c] * inverse_deviation(running.variance, g), buffers.as<const T>(2)[c],
                buffers.as<T>(y));
      if (T* out = buffers.as<T>(mean)) out[c] = running.mean;
      if (T* out = buffers.as<T>(variance)) out[c] = running.variance;
    });
  });
  step.in_place = {0, y};
  return step;
}

constexpr const char* kBatchNormMean = "mean";
constexpr const char* kBatchNormInverseDeviation = "inverse deviation";

// A running statistic: updated where it is a state of the model, else (fed from outside) only read.
Operand running(const KernelRequest& request, std::size_t input) {
  Operand operand = read_value(request.node.inputs[input]);
  if (request.constants[input] != nullptr) operand.access = Operand::Access::update;
  return operand;
}

/// Where a running statistic lies, and where its new value goes: itself, an output, both or neither.
struct Running {
  std::size_t old, state, output;

  template <class T>
  void update(const Buffers& buffers, std::int64_t c, float momentum, T of_batch) const {
    const T next = static_cast<T>(momentum) * buffers.as<const T>(old)[c] + static_cast<T>(1 - momentum) * of_batch;
    if (T* out = buffers.as<T>(state)) out[c] = next;
    if (T* out = buffers.as<T>(output)) out[c] = next;
  }
};

Running add_running(const KernelRequest& request, std::size_t input, std::size_t output, OperandList& operands) {
  Running result{};
  result.old = operands.add(running(request, input));
  result.state = request.constants[input] != nullptr ? result.old : kNoOperand;
  result.output =
      operands.add_if(has_output(request, output), [&] { return write_value(request.output_names[output]); });
  return result;
}

template <class T>
Step training_step(const KernelRequest& request, const BatchNormGeometry& g) {
  const Bytes saved = g.channels * static_cast<Bytes>(sizeof(T));
  OperandList operands;
  for (std::size_t i = 0; i < 3; ++i) operands.add(read_value(request.node.inputs[i]));
  const std::size_t y = operands.add(write_value(request.output_names[0]));
  const std::size_t mean = operands.add(write_saved(kBatchNormMean, saved));
  const std::size_t deviation = operands.add(write_saved(kBatchNormInverseDeviation, saved));
  const Running running_mean = add_running(request, 3, 1, operands);
  const Running running_variance = add_running(request, 4, 2, operands);
  return make_step(request, "forward", operands.take(), [=, threads = request.threads](const Buffers& buffers) {
    in_parallel(g.channels, threads, [&](std::int64_t c) {
      const Statistics<T> batch = statistics_of(g, c, buffers.as<const T>(0));
      const T inverse = inverse_deviation(batch.variance, g);
      normalize(g, c, buffers.as<const T>(0), batch.mean, buffers.as<const T>(1)[c] * inverse,
                buffers.as<const T>(2)[c], buffers.as<T>(y));
      buffers.as<T>(mean)[c] = batch.mean;
      buffers.as<T>(deviation)[c] = inverse;
      running_mean.update(buffers, c, g.momentum, batch.mean);
      running_variance.update(buffers, c, g.momentum, batch.variance);
    });
  });
}

/// With x^ = (x - mean) inverse_deviation and m elements per channel: dB = sum dy, dscale = sum dy x^,
/// dx = scale inverse_deviation (dy - dB / m - x^ dscale / m), as mean and variance depend on x too.
template <class T>
void input_gradient(const BatchNormGeometry& g, std::int64_t c, const T* x, const T* dy, Statistics<T> of_dy, T mean,
                    T inverse, T scale, T* dx) {
  for_each_plane(g, c, [&](std::int64_t at) {
    for (std::int64_t i = at; i < at + g.plane; ++i) {
      dx[i] = scale * inverse * (dy[i] - of_dy.mean - (x[i] - mean) * inverse * of_dy.variance);
    }
  });
}

template <class T>
Step batch_norm_backward_step(const KernelRequest& request, const BatchNormGeometry& g) {
  const Bytes saved = g.channels * static_cast<Bytes>(sizeof(T));
  const std::vector<std::string>& in = request.node.inputs;
  OperandList operands;
  operands.add(read_value(in[0]));
  operands.add(read_value(in[1]));
  operands.add(read_gradient(request.output_names[0]));
  operands.add(read_saved(kBatchNormMean, saved));
  operands.add(read_saved(kBatchNormInverseDeviation, saved));
  const auto gradient = [&](std::size_t i) {
    return operands.add_if(wants_gradient(request, i), [&] { return write_gradient(in[i]); });
  };
  const std::size_t dx = gradient(0), dscale = gradient(1), dbias = gradient(2);
  return make_step(request, "backward", operands.take(), [=, threads = request.threads](const Buffers& buffers) {
    const T *x = buffers.as<const T>(0), *dy = buffers.as<const T>(2);
    const T count = static_cast<T>(g.batch * g.plane);
    in_parallel(g.channels, threads, [&](std::int64_t c) {
      const T mean = buffers.as<const T>(3)[c], inverse = buffers.as<const T>(4)[c];
      T sum_dy = 0, sum_dy_x = 0;
      for_each_plane(g, c, [&](std::int64_t at) {
        sum_dy += sum(g.plane, dy + at);
        sum_dy_x += centred_dot(g.plane, x + at, mean, dy + at);
      });
      sum_dy_x *= inverse;
      if (T* out = buffers.as<T>(dbias)) out[c] = sum_dy;
      if (T* out = buffers.as<T>(dscale)) out[c] = sum_dy_x;
      if (T* out = buffers.as<T>(dx)) {
        input_gradient(g, c, x, dy, {sum_dy / count, sum_dy_x / count}, mean, inverse, buffers.as<const T>(1)[c], out);
      }
    });
  });
}

/// y once more, from what the training step saved.
template <class T>
Step recompute_step(const KernelRequest& request, const BatchNormGeometry& g) {
  const Bytes saved = g.channels * static_cast<Bytes>(sizeof(T));
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < 3; ++i) operands.push_back(read_value(request.node.inputs[i]));
  operands.push_back(read_saved(kBatchNormMean, saved));
  operands.push_back(read_saved(kBatchNormInverseDeviation, saved));
  operands.push_back(write_value(request.output_names[0]));
  return make_step(request, "recompute", std::move(operands), [=, threads = request.threads](const Buffers& buffers) {
    in_parallel(g.channels, threads, [&](std::int64_t c) {
      normalize(g, c, buffers.as<const T>(0), buffers.as<const T>(3)[c],
                buffers.as<const T>(1)[c] * buffers.as<const T>(4)[c], buffers.as<const T>(2)[c], buffers.as<T>(5));
    });
  });
}

template <class T>
NodeKernels batch_norm_kernels_of(const KernelRequest& request, const BatchNormGeometry& g) {
  NodeKernels kernels;
  if (request.mode == Mode::inference) {
    kernels.forward.push_back(inference_step<T>(request, g));
    return kernels;
  }
  kernels.forward.push_back(training_step<T>(request, g));
  if (wants_gradient(request, 0) || wants_gradient(request, 1) || wants_gradient(request, 2)) {
    kernels.backward.push_back(batch_norm_backward_step<T>(request, g));
    kernels.recompute.push_back(recompute_step<T>(request, g));
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_batch_norm(const KernelRequest& request) {
  MG_TRY(const BatchNormGeometry geometry, batch_norm_geometry(request.node, request.inputs[0].shape));
  return for_type(request.outputs[0].dtype,
                  [&](auto zero) { return batch_norm_kernels_of<decltype(zero)>(request, geometry); });
}

}  // namespace mangrove::portable
