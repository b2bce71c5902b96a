#pragma once

#include <omp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/engine/onednn/channel_groups.h"
#include "mangrove/engine/onednn/epilogue.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/batch_norm_geometry.h"

/// What the passes of batch normalization share: the node resolved against its layout, operands, and a step from a
/// function over them.
namespace mangrove::onednn {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The bounds of a Relu or Clip that leaves the zeros in the padding of a layout as they are; nullopt for another node.
std::optional<Bounds> bounds_of(const FusedNode& fused);

/// All about one node that its steps need; they share it.
struct BatchNorm {
  explicit BatchNorm(const KernelRequest& request);

  /// Runs work(thread, image, group) for all groups of the images in one of `slices` slices of the batch; a thread's
  /// share is the same in every run.
  template <class Work>
  void for_each_group(int slices, Work work) const;
  std::size_t padded() const { return static_cast<std::size_t>(groups.padded_channels); }
  Bytes floats(std::size_t vectors) const { return static_cast<Bytes>(vectors * padded() * sizeof(float)); }
  /// Scratch space for the sums of every thread: two doubles per channel.
  Bytes sums_bytes() const {
    return static_cast<Bytes>(static_cast<std::size_t>(threads) * 2 * padded() * sizeof(double));
  }
  ChannelLoops loops(int width) const { return channel_loops(width, has_residual, activation.has_value()); }
  double count() const { return static_cast<double>(geometry.batch * groups.rows.count); }  // per channel

  BatchNormGeometry geometry;
  Value x, scale, bias, running_mean, running_variance, y, residual_value;
  Desc desc;
  ChannelGroups groups;
  bool has_residual = false;
  bool wants_residual = false;  // backward writes the residual's gradient
  std::optional<Bounds> activation;
  int threads = 1;
  std::string node;
};

using SharedNorm = std::shared_ptr<const BatchNorm>;

template <class Work>
void BatchNorm::for_each_group(int slices, Work work) const {
  const auto per_image = static_cast<std::int64_t>(groups.groups.size());
  const std::int64_t units = groups.images / slices * per_image;
  const auto run = [&](int thread) {
    for (std::int64_t unit = units * thread / threads; unit < units * (thread + 1) / threads; ++unit)
      work(thread, unit / per_image, groups.groups[static_cast<std::size_t>(unit % per_image)]);
  };
  if (threads == 1) return run(0);
#pragma omp parallel num_threads(threads)
  for (int thread = omp_get_thread_num(); thread < threads; thread += omp_get_num_threads()) run(thread);
}

/// The operands of a step, some of them optional, and later where they lie.
class Operands {
 public:
  std::size_t add(Operand operand) {
    operands_.push_back(std::move(operand));
    return operands_.size() - 1;
  }
  std::size_t add_if(bool present, const Argument& argument) { return present ? add(argument.operand) : kNone; }
  std::vector<Operand> take() { return std::move(operands_); }

 private:
  std::vector<Operand> operands_;
};

/// Where the operands of a step lie, for one slice of the batch.
class Buffers {
 public:
  Buffers(std::span<const SliceBuffer> buffers, std::byte* workspace)
      : buffers_(buffers.begin(), buffers.end()), workspace_(workspace) {}
  /// Null for kNone.
  float* at(std::size_t operand) const {
    if (operand == kNone) return nullptr;
    return reinterpret_cast<float*>(buffers_[operand].start + slice_ * buffers_[operand].stride);
  }
  std::byte* workspace() const { return workspace_; }
  bool is_first() const { return slice_ == 0; }
  bool is_last() const { return slice_ == slices_ - 1; }
  int slices() const { return slices_; }
  Buffers of_slice(int slice, int slices) const {
    Buffers buffers = *this;
    buffers.slice_ = slice;
    buffers.slices_ = slices;
    return buffers;
  }

 private:
  std::vector<SliceBuffer> buffers_;
  std::byte* workspace_;
  int slice_ = 0;
  int slices_ = 1;
};

inline bool is_split(const BatchNorm& norm, const Operand& operand) {
  const bool is_image = operand.kind == Operand::Kind::value || operand.kind == Operand::Kind::gradient;
  return is_image && (operand.name == norm.x.name || operand.name == norm.y.name ||
                      (norm.has_residual && operand.name == norm.residual_value.name));
}

/// work(norm, buffers) is called once, or for one slice of the batch after another; `workspace` then stays as it is.
template <class Work>
Step make_pass(const SharedNorm& norm, const std::string& what, Operands& operands, Bytes workspace, Work work) {
  Step step;
  step.name = norm->node + " " + what;
  step.node = norm->node;
  step.operands = operands.take();
  step.workspace = workspace;
  step.bind = [work, norm](std::span<std::byte* const> buffers, std::byte* scratch) -> Step::Bound {
    std::vector<SliceBuffer> whole;
    for (std::byte* buffer : buffers) whole.push_back({buffer, 0});
    return [work, norm, bound = Buffers(whole, scratch)] { work(*norm, bound); };
  };
  Slicing slicing;
  for (const Operand& operand : step.operands) slicing.split.push_back(is_split(*norm, operand));
  slicing.make = [=](int slices) -> Result<SlicedStep> {
    if (norm->groups.images % slices != 0) return make_error(Code::unimplemented, "slices of uneven size");
    SlicedStep sliced{.workspace = workspace, .keeps_workspace = true};
    sliced.bind = [=](std::span<const SliceBuffer> buffers, std::byte* scratch) -> SlicedStep::Bound {
      return [work, norm, slices, bound = Buffers(buffers, scratch)](int slice) {
        work(*norm, bound.of_slice(slice, slices));
      };
    };
    return sliced;
  };
  step.slicing = std::move(slicing);
  return step;
}

inline Operand value(Operand::Access access, const Value& value, const Desc& desc) {
  Operand operand = read_value(0, value, desc).operand;
  operand.access = access;
  return operand;
}
inline Operand read(const Value& of, const Desc& desc) {
  return value(Operand::Access::read, of, desc);
}
inline Operand read_plain(const Value& of) {
  return read(of, of.plain);
}
inline Operand saved(Operand::Access access, const char* name, Bytes bytes) {
  return {.kind = Operand::Kind::saved, .access = access, .name = name, .saved_bytes = bytes};
}

}  // namespace mangrove::onednn
