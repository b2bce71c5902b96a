// Batch normalization with the residual Add and the clipping activation behind it, in passes over memory that cannot be
// fewer: forward one for the statistics, one for the result; backward one for the sums, one for the gradients.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/simd/epilogue.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/engine/simd/norm_loops.h"
#include "mangrove/engine/simd/sliced_step.h"
#include "mangrove/graph/batch_norm_geometry.h"

namespace mangrove::simd {
namespace {

using portable::Buffers;
using portable::OperandList;
using portable::read_gradient;
using portable::read_saved;
using portable::read_value;
using portable::wants_gradient;
using portable::write_gradient;
using portable::write_saved;
using portable::write_value;

constexpr const char* kNormMean = "mean";
constexpr const char* kNormInverse = "inverse standard deviation";
constexpr const char* kNormGradientMaps = "gradient maps";

template <class T>
T* offset_or_null(T* buffer, std::int64_t offset) {
  return buffer != nullptr ? buffer + offset : nullptr;
}

/// BatchNormalization and what is computed with it.
struct Norm {
  Norm(const KernelRequest& request, const BatchNormGeometry& of)
      : geometry(of), threads(request.threads), bounds(find_epilogue(request)->bounds) {
    const Epilogue epilogue = *find_epilogue(request);
    if (epilogue.residual == nullptr) return;
    residual = epilogue.residual_value();
    wants_residual = request.mode == Mode::training && epilogue.residual->wants_gradient[1 - epilogue.residual->input];
  }

  const Bounds* bounds_or_null() const { return bounds ? &*bounds : nullptr; }
  double count() const { return static_cast<double>(geometry.batch * geometry.plane); }  // per channel
  Bytes saved_bytes() const { return geometry.channels * static_cast<Bytes>(sizeof(float)); }

  /// visit(offset of the plane) for each plane of channel c in a slice.
  template <class Visit>
  void for_each_plane(const Slice& slice, std::int64_t c, Visit visit) const {
    for (std::int64_t n = 0; n < geometry.batch / slice.count; ++n) visit((n * geometry.channels + c) * geometry.plane);
  }

  float inverse_standard_deviation(float variance) const { return 1 / std::sqrt(variance + geometry.epsilon); }

  void normalize(const Slice& slice, std::int64_t c, const float* x, const float* added, const Affine& map,
                 float* y) const {
    for_each_plane(slice, c, [&](std::int64_t at) {
      norm_loops().normalize(geometry.plane, x + at, offset_or_null(added, at), map, bounds_or_null(), y + at);
    });
  }

  BatchNormGeometry geometry;
  int threads;
  std::optional<Bounds> bounds;
  std::string residual;         // the value that is added; "" for none
  bool wants_residual = false;  // backward writes its gradient
};

/// What every pass over the elements reads: x, scale, bias.
struct Inputs {
  Inputs(const KernelRequest& request, OperandList& operands)
      : x(operands.add(read_value(request.node.inputs[0]))),
        scale(operands.add(read_value(request.node.inputs[1]))),
        bias(operands.add(read_value(request.node.inputs[2]))) {}

  Affine map(const Buffers& buffers, std::int64_t c, float mean, float inverse) const {
    return {mean, buffers.as<const float>(scale)[c] * inverse, buffers.as<const float>(bias)[c]};
  }

  std::size_t x, scale, bias;
};

/// The result, and what is added to it.
struct Outputs {
  Outputs(const KernelRequest& request, const Norm& norm, OperandList& operands)
      : residual(operands.add_if(!norm.residual.empty(), [&] { return read_value(norm.residual); })),
        y(operands.add(write_value(request.output_names[0]))) {}

  std::size_t residual, y;
};

/// A step over all channels of a slice: work(channel, const Buffers&, std::byte* workspace, const Slice&).
template <class Work>
Step make_norm_step(const KernelRequest& request, const Norm& norm, const std::string& what, OperandList& operands,
                    Bytes workspace, Work work) {
  const SliceTraits traits{
      .batch = norm.geometry.batch, .images = image_values(request), .workspace = workspace, .keeps_workspace = true};
  return make_sliced_step(
      request, what, operands.take(), traits, [=](const Buffers& buffers, std::byte* scratch, const Slice& slice) {
        in_parallel(norm.geometry.channels, norm.threads, [&](std::int64_t c) { work(c, buffers, scratch, slice); });
      });
}

/// Computes the result from x with statistics(buffers, c): mean and 1 / deviation.
template <class GetStatistics>
Step make_normalizing_step(const KernelRequest& request, const Norm& norm, const std::string& what, const Inputs& in,
                           OperandList& operands, GetStatistics statistics) {
  const Outputs out(request, norm, operands);
  Step step = make_norm_step(
      request, norm, what, operands, 0, [=](std::int64_t c, const Buffers& buffers, std::byte*, const Slice& slice) {
        const auto [mean, inverse] = statistics(buffers, c);
        norm.normalize(slice, c, buffers.as<const float>(in.x), buffers.as<const float>(out.residual),
                       in.map(buffers, c, mean, inverse), buffers.as<float>(out.y));
      });
  step.in_place = {out.residual != portable::kNoOperand ? out.residual : in.x, out.y};
  return step;
}

Step inference_norm_step(const KernelRequest& request, const Norm& norm) {
  OperandList operands;
  const Inputs in(request, operands);
  const std::size_t mean = operands.add(read_value(request.node.inputs[3]));
  const std::size_t variance = operands.add(read_value(request.node.inputs[4]));
  return make_normalizing_step(request, norm, "forward", in, operands, [=](const Buffers& buffers, std::int64_t c) {
    return std::pair(buffers.as<const float>(mean)[c],
                     norm.inverse_standard_deviation(buffers.as<const float>(variance)[c]));
  });
}

/// From the statistics that another step saved.
Step normalizing_step(const KernelRequest& request, const Norm& norm, const std::string& what) {
  OperandList operands;
  const Inputs in(request, operands);
  const std::size_t mean = operands.add(read_saved(kNormMean, norm.saved_bytes()));
  const std::size_t inverse = operands.add(read_saved(kNormInverse, norm.saved_bytes()));
  return make_normalizing_step(request, norm, what, in, operands, [=](const Buffers& buffers, std::int64_t c) {
    return std::pair(buffers.as<const float>(mean)[c], buffers.as<const float>(inverse)[c]);
  });
}

Operand state(const std::string& name) {
  Operand operand = read_value(name);
  operand.access = Operand::Access::update;
  return operand;
}

/// What is known of a channel before the last slice.
struct ChannelSums {
  std::array<double, 2> sums;
  double shift;  // sums are taken near the mean, so that the variance does not drown in the rounding of its square
};

double find_shift(std::int64_t plane, const float* x) {
  const std::int64_t some = std::min<std::int64_t>(plane, 16);
  float sum = 0;
  for (std::int64_t i = 0; i < some; ++i) sum += x[i];
  return static_cast<double>(sum / static_cast<float>(some));
}

Step statistics_step(const KernelRequest& request, const Norm& norm) {
  OperandList operands;
  const std::size_t input = operands.add(read_value(request.node.inputs[0]));
  const std::size_t mean = operands.add(write_saved(kNormMean, norm.saved_bytes()));
  const std::size_t inverse = operands.add(write_saved(kNormInverse, norm.saved_bytes()));
  const std::size_t running_mean = operands.add(state(request.node.inputs[3]));
  const std::size_t running_variance = operands.add(state(request.node.inputs[4]));
  const auto update = [momentum = norm.geometry.momentum](float of_batch, float& running) {
    running = momentum * running + (1 - momentum) * of_batch;
  };
  return make_norm_step(
      request, norm, "statistics", operands, norm.geometry.channels * static_cast<Bytes>(sizeof(ChannelSums)),
      [=](std::int64_t c, const Buffers& buffers, std::byte* workspace, const Slice& slice) {
        const auto* x = buffers.as<const float>(input);
        ChannelSums& of = reinterpret_cast<ChannelSums*>(workspace)[c];
        if (slice.is_first()) of = {{}, find_shift(norm.geometry.plane, x + c * norm.geometry.plane)};
        norm.for_each_plane(slice, c, [&](std::int64_t at) {
          norm_loops().moments(norm.geometry.plane, x + at, static_cast<float>(of.shift), of.sums.data());
        });
        if (!slice.is_last()) return;
        const double off = of.sums[0] / norm.count();
        const auto of_mean = static_cast<float>(of.shift + off);
        const auto variance = static_cast<float>(std::max(of.sums[1] / norm.count() - off * off, 0.0));
        buffers.as<float>(mean)[c] = of_mean;
        buffers.as<float>(inverse)[c] = norm.inverse_standard_deviation(variance);
        update(of_mean, buffers.as<float>(running_mean)[c]);
        update(variance, buffers.as<float>(running_variance)[c]);
      });
}

/// What both backward steps read.
struct BackwardInputs : Inputs {
  BackwardInputs(const KernelRequest& request, const Norm& norm, OperandList& operands)
      : Inputs(request, operands),
        dy(operands.add(read_gradient(request.output_names[0]))),
        mean(operands.add(read_saved(kNormMean, norm.saved_bytes()))),
        inverse(operands.add(read_saved(kNormInverse, norm.saved_bytes()))),
        y(operands.add_if(!norm.residual.empty() && norm.bounds, [&] { return read_value(request.output_names[0]); })) {
  }

  Affine map_of(const Buffers& buffers, std::int64_t c) const {
    return map(buffers, c, buffers.as<const float>(mean)[c], buffers.as<const float>(inverse)[c]);
  }

  std::size_t dy, mean, inverse, y;
};

/// With x^ = (x - mean) / deviation and m elements per channel: dbias = sum g, dscale = sum g x^ and
/// dx = factor (g - dbias / m - x^ dscale / m), since mean and variance depend on x too. (Ioffe and Szegedy, Batch
/// Normalization, 2015)
Step gradient_sums_step(const KernelRequest& request, const Norm& norm) {
  OperandList operands;
  const BackwardInputs in(request, norm, operands);
  const std::size_t maps = operands.add(write_saved(kNormGradientMaps, 2 * norm.saved_bytes()));
  const auto gradient = [&](std::size_t i) {
    return operands.add_if(wants_gradient(request, i), [&] { return write_gradient(request.node.inputs[i]); });
  };
  const std::size_t dscale = gradient(1), dbias = gradient(2);
  return make_norm_step(
      request, norm, "backward sums", operands, norm.geometry.channels * static_cast<Bytes>(sizeof(ChannelSums)),
      [=](std::int64_t c, const Buffers& buffers, std::byte* workspace, const Slice& slice) {
        ChannelSums& of = reinterpret_cast<ChannelSums*>(workspace)[c];
        if (slice.is_first()) of = {};
        const Affine map = in.map_of(buffers, c);
        norm.for_each_plane(slice, c, [&](std::int64_t i) {
          norm_loops().gradient_sums(norm.geometry.plane, buffers.as<const float>(in.x) + i,
                                     offset_or_null(buffers.as<const float>(in.y), i),
                                     buffers.as<const float>(in.dy) + i, map, norm.bounds_or_null(), of.sums.data());
        });
        if (!slice.is_last()) return;
        const auto inverse = static_cast<double>(buffers.as<const float>(in.inverse)[c]);
        const double of_scale = of.sums[1] * inverse, factor = static_cast<double>(map.factor) / norm.count();
        buffers.as<GradientMap>(maps)[c] = {static_cast<float>(-factor * of_scale * inverse),
                                            static_cast<float>(-factor * of.sums[0])};
        if (float* out = buffers.as<float>(dscale)) out[c] = static_cast<float>(of_scale);
        if (float* out = buffers.as<float>(dbias)) out[c] = static_cast<float>(of.sums[0]);
      });
}

Step input_gradient_step(const KernelRequest& request, const Norm& norm) {
  OperandList operands;
  const BackwardInputs in(request, norm, operands);
  const std::size_t maps = operands.add(read_saved(kNormGradientMaps, 2 * norm.saved_bytes()));
  const std::size_t dx =
      operands.add_if(wants_gradient(request, 0), [&] { return write_gradient(request.node.inputs[0]); });
  const std::size_t d_residual = operands.add_if(norm.wants_residual, [&] { return write_gradient(norm.residual); });
  Step step = make_norm_step(request, norm, "backward", operands, 0,
                             [=](std::int64_t c, const Buffers& buffers, std::byte*, const Slice& slice) {
                               const Affine map = in.map_of(buffers, c);
                               const GradientMap dx_map = buffers.as<const GradientMap>(maps)[c];
                               norm.for_each_plane(slice, c, [&](std::int64_t i) {
                                 norm_loops().gradient(norm.geometry.plane, buffers.as<const float>(in.x) + i,
                                                       offset_or_null(buffers.as<const float>(in.y), i),
                                                       buffers.as<const float>(in.dy) + i, map, norm.bounds_or_null(),
                                                       dx_map, offset_or_null(buffers.as<float>(dx), i),
                                                       offset_or_null(buffers.as<float>(d_residual), i));
                               });
                             });
  step.in_place = {in.dy, d_residual != portable::kNoOperand ? d_residual : dx};
  return step;
}

}  // namespace

bool batch_norm_fuses(const KernelRequest& request) {
  const std::optional<Epilogue> epilogue = find_epilogue(request);
  return epilogue && (epilogue->residual == nullptr || epilogue->residual_value() != request.node.inputs[0]);
}

Result<NodeKernels> make_batch_norm(const KernelRequest& request) {
  MG_TRY(const BatchNormGeometry geometry, batch_norm_geometry(request.node, request.inputs[0].shape));
  if (std::any_of(request.output_names.begin() + 1, request.output_names.end(),
                  [](const std::string& name) { return !name.empty(); }))
    return make_error(Code::unimplemented, "batch normalization with more than one output");
  const Norm norm(request, geometry);
  NodeKernels kernels;
  if (request.mode == Mode::inference) {
    kernels.forward.push_back(inference_norm_step(request, norm));
    return kernels;
  }
  if (request.constants[3] == nullptr || request.constants[4] == nullptr)
    return make_error(Code::unimplemented, "batch normalization whose running statistics are no states of the model");
  kernels.forward.push_back(statistics_step(request, norm));
  kernels.forward.push_back(normalizing_step(request, norm, "forward"));
  kernels.recompute.push_back(normalizing_step(request, norm, "recompute"));
  kernels.recompute_always = true;
  const bool wants_input = wants_gradient(request, 0) || norm.wants_residual;
  if (wants_input || wants_gradient(request, 1) || wants_gradient(request, 2))
    kernels.backward.push_back(gradient_sums_step(request, norm));
  if (wants_input) kernels.backward.push_back(input_gradient_step(request, norm));
  return kernels;
}

}  // namespace mangrove::simd
