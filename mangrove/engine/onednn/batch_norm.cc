// Batch normalization with the residual Add and the clipping activation behind it, in passes over memory that cannot be
// fewer: forward one for the statistics, one for the result; backward one for the sums, one for the gradients. oneDNN's
// own takes no residual and no Clip.
#include <algorithm>
#include <cmath>
#include <memory>

#include "mangrove/engine/onednn/batch_norm_pass.h"

namespace mangrove::onednn {
namespace {

constexpr const char* kMoments = "moments";  // mean, then 1 / deviation
constexpr const char* kGradientMap = "gradient map";

/// Sums over all images and rows: two numbers per channel, first by thread, then together in the order of the threads.
class Sums {
 public:
  Sums(const BatchNorm& norm, const Buffers& at) : norm_(norm), sums_(reinterpret_cast<double*>(at.workspace())) {
    if (at.is_first()) std::fill_n(sums_, static_cast<std::size_t>(norm.threads) * 2 * norm.padded(), 0.0);
  }
  double* first(int thread) const { return sums_ + static_cast<std::size_t>(thread) * 2 * norm_.padded(); }
  double* second(int thread) const { return first(thread) + norm_.padded(); }
  void add_up() const {
    for (int thread = 1; thread < norm_.threads; ++thread) {
      for (std::size_t i = 0; i < 2 * norm_.padded(); ++i) sums_[i] += first(thread)[i];
    }
  }

 private:
  const BatchNorm& norm_;
  double* sums_;
};

/// Near the mean, so that the variance does not drown in the rounding of its square: the mean of some rows of the
/// first image.
void find_shift(const BatchNorm& norm, const float* x, float* shift) {
  const std::int64_t rows = std::min<std::int64_t>(norm.groups.rows.count, 16);
  for (const auto& group : norm.groups.groups) {
    for (int c = 0; c < group.width; ++c) {
      float sum = 0;
      for (std::int64_t r = 0; r < rows; ++r) sum += x[group.offset + r * norm.groups.rows.stride + c];
      shift[group.channel + c] = sum / static_cast<float>(rows);
    }
  }
}

void update_running(const BatchNorm& norm, std::size_t channel, float of_batch, float* running) {
  const float momentum = norm.geometry.momentum;
  running[channel] = momentum * running[channel] + (1 - momentum) * of_batch;
}

Step statistics_step(const SharedNorm& shared) {
  Operands operands;
  const std::size_t x = operands.add(read(shared->x, shared->desc));
  const std::size_t moments = operands.add(saved(Operand::Access::write, kMoments, shared->floats(2)));
  const std::size_t mean =
      operands.add(value(Operand::Access::update, shared->running_mean, shared->running_mean.plain));
  const std::size_t variance =
      operands.add(value(Operand::Access::update, shared->running_variance, shared->running_variance.plain));
  const auto work = [=](const BatchNorm& norm, const Buffers& at) {
    const Sums sums(norm, at);
    auto* const shift = reinterpret_cast<float*>(at.workspace() + norm.sums_bytes());
    if (at.is_first()) find_shift(norm, at.at(x), shift);
    norm.for_each_group(at.slices(), [&](int thread, std::int64_t image, const ChannelGroups::Group& group) {
      norm.loops(group.width)
          .moments(norm.groups.rows, at.at(x) + image * norm.groups.image_stride + group.offset, shift + group.channel,
                   sums.first(thread) + group.channel, sums.second(thread) + group.channel);
    });
    if (!at.is_last()) return;
    sums.add_up();
    for (std::size_t c = 0; c < norm.padded(); ++c) {
      const double off = sums.first(0)[c] / norm.count();
      const double spread = std::max(sums.second(0)[c] / norm.count() - off * off, 0.0);
      const auto centre = static_cast<float>(shift[c] + off);
      at.at(moments)[c] = centre;
      at.at(moments)[norm.padded() + c] =
          static_cast<float>(1 / std::sqrt(spread + static_cast<double>(norm.geometry.epsilon)));
      if (c >= static_cast<std::size_t>(norm.groups.channels)) continue;
      update_running(norm, c, centre, at.at(mean));
      update_running(norm, c, static_cast<float>(spread), at.at(variance));
    }
  };
  return make_pass(shared, "statistics", operands, shared->sums_bytes() + shared->floats(1), work);
}

/// scale / deviation and bias of every channel, zero in the padding; `scratch` takes them in the first slice.
Affine make_affine(const BatchNorm& norm, bool is_first, const float* mean, const float* inverse, const float* scale,
                   const float* bias, float* scratch) {
  const Affine map{mean, scratch, scratch + norm.padded()};
  if (!is_first) return map;
  const auto channels = static_cast<std::size_t>(norm.groups.channels);
  std::fill_n(scratch, 2 * norm.padded(), 0.0f);
  for (std::size_t c = 0; c < channels; ++c) {
    scratch[c] = scale[c] * inverse[c];
    scratch[norm.padded() + c] = bias[c];
  }
  return map;
}

/// y = activation(normalized x + residual). `moments`: mean and 1 / deviation.
void normalize(const BatchNorm& norm, int slices, const float* x, const float* residual, float* y, const Affine& map) {
  norm.for_each_group(slices, [&](int, std::int64_t image, const ChannelGroups::Group& group) {
    const std::int64_t i = image * norm.groups.image_stride + group.offset;
    norm.loops(group.width)
        .normalize(norm.groups.rows, x + i, residual + (residual == nullptr ? 0 : i), y + i,
                   {map.mean + group.channel, map.factor + group.channel, map.bias + group.channel},
                   norm.activation.value_or(Bounds{}));
  });
}

Step normalize_step(const SharedNorm& shared) {
  Operands operands;
  const std::size_t x = operands.add(read(shared->x, shared->desc));
  const std::size_t scale = operands.add(read_plain(shared->scale)), bias = operands.add(read_plain(shared->bias));
  const std::size_t moments = operands.add(saved(Operand::Access::read, kMoments, shared->floats(2)));
  const std::size_t residual = shared->has_residual ? operands.add(read(shared->residual_value, shared->desc)) : kNone;
  const std::size_t y = operands.add(value(Operand::Access::write, shared->y, shared->desc));
  const auto work = [=](const BatchNorm& norm, const Buffers& at) {
    const float* mean = at.at(moments);
    const Affine map = make_affine(norm, at.is_first(), mean, mean + norm.padded(), at.at(scale), at.at(bias),
                                   reinterpret_cast<float*>(at.workspace()));
    normalize(norm, at.slices(), at.at(x), at.at(residual), at.at(y), map);
  };
  Step step = make_pass(shared, "forward", operands, shared->floats(2), work);
  step.in_place = {residual != kNone ? residual : x, y};
  return step;
}

Step inference_step(const SharedNorm& shared) {
  Operands operands;
  const std::size_t x = operands.add(read(shared->x, shared->desc));
  const std::size_t scale = operands.add(read_plain(shared->scale)), bias = operands.add(read_plain(shared->bias));
  const std::size_t mean = operands.add(read_plain(shared->running_mean));
  const std::size_t variance = operands.add(read_plain(shared->running_variance));
  const std::size_t residual = shared->has_residual ? operands.add(read(shared->residual_value, shared->desc)) : kNone;
  const std::size_t y = operands.add(value(Operand::Access::write, shared->y, shared->desc));
  const auto work = [=](const BatchNorm& norm, const Buffers& at) {
    auto* const centre = reinterpret_cast<float*>(at.workspace());
    float* const inverse = centre + norm.padded();
    std::fill_n(centre, 2 * norm.padded(), 0.0f);
    for (std::int64_t c = 0; c < norm.groups.channels; ++c) {
      centre[c] = at.at(mean)[c];
      inverse[c] = 1 / std::sqrt(at.at(variance)[c] + norm.geometry.epsilon);
    }
    const Affine map =
        make_affine(norm, at.is_first(), centre, inverse, at.at(scale), at.at(bias), inverse + norm.padded());
    normalize(norm, at.slices(), at.at(x), at.at(residual), at.at(y), map);
  };
  Step step = make_pass(shared, "forward", operands, shared->floats(4), work);
  step.in_place = {residual != kNone ? residual : x, y};
  return step;
}

/// What both backward passes read.
struct BackwardOperands {
  BackwardOperands(const BatchNorm& norm, Operands& operands)
      : x(operands.add(read(norm.x, norm.desc))),
        scale(operands.add(read_plain(norm.scale))),
        bias(operands.add(read_plain(norm.bias))),
        moments(operands.add(saved(Operand::Access::read, kMoments, norm.floats(2)))),
        dy(operands.add(read_gradient(0, norm.y, norm.desc).operand)),
        y(norm.has_residual && norm.activation ? operands.add(read(norm.y, norm.desc)) : kNone) {}

  Affine affine(const BatchNorm& norm, const Buffers& at, float* scratch) const {
    const float* mean = at.at(moments);
    return make_affine(norm, at.is_first(), mean, mean + norm.padded(), at.at(scale), at.at(bias), scratch);
  }

  std::size_t x, scale, bias, moments, dy, y;
};

Affine behind(const Affine& map, std::int64_t channel) {
  return {map.mean + channel, map.factor + channel, map.bias + channel};
}

/// With x^ = (x - mean) / deviation and m elements per channel: dbias = sum g, dscale = sum g x^ and
/// dx = factor (g - dbias / m - x^ dscale / m), since mean and variance depend on x too.
Step sums_step(const SharedNorm& shared, bool wants_scale, bool wants_bias) {
  Operands operands;
  const BackwardOperands in(*shared, operands);
  const std::size_t out = operands.add(saved(Operand::Access::write, kGradientMap, shared->floats(2)));
  const std::size_t dscale = operands.add_if(wants_scale, write_gradient(0, shared->scale, shared->scale.plain));
  const std::size_t dbias = operands.add_if(wants_bias, write_gradient(0, shared->bias, shared->bias.plain));
  const auto work = [=](const BatchNorm& norm, const Buffers& at) {
    const Sums sums(norm, at);
    const Affine map = in.affine(norm, at, reinterpret_cast<float*>(at.workspace() + norm.sums_bytes()));
    norm.for_each_group(at.slices(), [&](int thread, std::int64_t image, const ChannelGroups::Group& group) {
      const std::int64_t i = image * norm.groups.image_stride + group.offset;
      norm.loops(group.width)
          .gradient_sums(norm.groups.rows, at.at(in.x) + i, at.at(in.y) + (in.y == kNone ? 0 : i), at.at(in.dy) + i,
                         behind(map, group.channel), norm.activation.value_or(Bounds{}),
                         sums.first(thread) + group.channel, sums.second(thread) + group.channel);
    });
    if (!at.is_last()) return;
    sums.add_up();
    const float* inverse = at.at(in.moments) + norm.padded();
    for (std::size_t c = 0; c < norm.padded(); ++c) {
      const double of_g = sums.first(0)[c], of_g_x = sums.second(0)[c] * static_cast<double>(inverse[c]);
      const double factor = static_cast<double>(map.factor[c]) / norm.count();
      at.at(out)[c] = static_cast<float>(-factor * of_g_x * static_cast<double>(inverse[c]));
      at.at(out)[norm.padded() + c] = static_cast<float>(-factor * of_g);
      if (c >= static_cast<std::size_t>(norm.groups.channels)) continue;
      if (float* gradient = at.at(dscale)) gradient[c] = static_cast<float>(of_g_x);
      if (float* gradient = at.at(dbias)) gradient[c] = static_cast<float>(of_g);
    }
  };
  return make_pass(shared, "backward sums", operands, shared->sums_bytes() + shared->floats(2), work);
}

Step gradient_step(const SharedNorm& shared) {
  Operands operands;
  const BackwardOperands in(*shared, operands);
  const std::size_t by = operands.add(saved(Operand::Access::read, kGradientMap, shared->floats(2)));
  const std::size_t dx = operands.add(write_gradient(0, shared->x, shared->desc).operand);
  const std::size_t dresidual =
      operands.add_if(shared->wants_residual, write_gradient(0, shared->residual_value, shared->desc));
  const auto work = [=](const BatchNorm& norm, const Buffers& at) {
    const Affine map = in.affine(norm, at, reinterpret_cast<float*>(at.workspace()));
    norm.for_each_group(at.slices(), [&](int, std::int64_t image, const ChannelGroups::Group& group) {
      const std::int64_t i = image * norm.groups.image_stride + group.offset;
      const float* slope = at.at(by) + group.channel;
      norm.loops(group.width)
          .gradient(norm.groups.rows, at.at(in.x) + i, at.at(in.y) + (in.y == kNone ? 0 : i), at.at(in.dy) + i,
                    at.at(dx) + i, at.at(dresidual) + (dresidual == kNone ? 0 : i), behind(map, group.channel),
                    norm.activation.value_or(Bounds{}), {slope, slope + norm.padded()});
    });
  };
  Step step = make_pass(shared, "backward", operands, shared->floats(2), work);
  step.in_place = {in.dy, shared->wants_residual ? dresidual : dx};
  return step;
}

}  // namespace

bool batch_norm_fuses(const KernelRequest& request) {
  const auto epilogue = find_epilogue(request);
  return epilogue && (epilogue->activation == nullptr || bounds_of(*epilogue->activation));
}

bool batch_norm_supported(const KernelRequest& request) {
  const bool single_output = std::all_of(request.output_names.begin() + 1, request.output_names.end(),
                                         [](const std::string& name) { return name.empty(); });
  if (!single_output) return false;
  // statistics that are no states of the model: the portable kernel knows what becomes of them
  const bool has_states = request.constants[3] != nullptr && request.constants[4] != nullptr;
  if (request.mode == Mode::training && !has_states) return false;
  return channel_groups(desc_of(request.layouts[0], plain_desc(request.inputs[0].shape.dims()))).has_value();
}

NodeKernels make_batch_norm(const dnnl::engine&, const KernelRequest& request) {
  const auto norm = std::make_shared<const BatchNorm>(request);
  NodeKernels kernels;
  if (request.mode == Mode::inference) {
    kernels.forward.push_back(inference_step(norm));
    return kernels;
  }
  kernels.forward.push_back(statistics_step(norm));
  kernels.forward.push_back(normalize_step(norm));
  kernels.recompute.push_back(normalize_step(norm));
  kernels.recompute_always = true;
  const bool wants_x = wants_gradient(request, 0) || norm->wants_residual;
  const bool wants_scale = wants_gradient(request, 1), wants_bias = wants_gradient(request, 2);
  if (wants_x || wants_scale || wants_bias) kernels.backward.push_back(sums_step(norm, wants_scale, wants_bias));
  if (wants_x) kernels.backward.push_back(gradient_step(norm));
  return kernels;
}

}  // namespace mangrove::onednn
