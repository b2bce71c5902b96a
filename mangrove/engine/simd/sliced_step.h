#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::simd {

/// Which part of the batch a step computes: all of it, or one of several equal slices.
struct Slice {
  int index = 0;
  int count = 1;

  bool is_first() const { return index == 0; }
  bool is_last() const { return index == count - 1; }
};

/// What a step needs to be computed slice by slice.
struct SliceTraits {
  std::int64_t batch;
  std::set<std::string> images;  // values that have a part for each image of the batch, and so have their gradients
  Bytes workspace = 0;
  bool keeps_workspace = false;  // from one slice to the next
};

/// A step that computes the whole batch, or one slice of it after another, in rising order:
/// work(const Buffers&, std::byte* workspace, const Slice&). The buffers of images are those of the slice.
template <class Work>
Step make_sliced_step(const KernelRequest& request, const std::string& what, std::vector<Operand> operands,
                      const SliceTraits& traits, Work work) {
  using portable::Buffers;
  Step step = portable::make_step_with_workspace(
      request, what, std::move(operands), traits.workspace,
      [work](const Buffers& buffers, std::byte* workspace) { work(buffers, workspace, Slice{}); });
  Slicing slicing;
  for (const Operand& operand : step.operands)
    slicing.split.push_back(operand.kind != Operand::Kind::saved && traits.images.contains(operand.name));
  slicing.make = [work, traits](int slices) -> Result<SlicedStep> {
    if (traits.batch % slices != 0) return make_error(Code::unimplemented, "slices of uneven size");
    SlicedStep sliced{.workspace = traits.workspace, .keeps_workspace = traits.keeps_workspace};
    sliced.bind = [work, slices](std::span<const SliceBuffer> buffers, std::byte* workspace) -> SlicedStep::Bound {
      std::vector<Buffers> of_slices;
      for (int slice = 0; slice < slices; ++slice) {
        std::vector<std::byte*> starts;
        for (const SliceBuffer& buffer : buffers) starts.push_back(buffer.start + slice * buffer.stride);
        of_slices.emplace_back(starts);
      }
      return [work, slices, workspace, of_slices = std::move(of_slices)](int slice) {
        work(of_slices[static_cast<std::size_t>(slice)], workspace, Slice{slice, slices});
      };
    };
    return sliced;
  };
  step.slicing = std::move(slicing);
  return step;
}

}  // namespace mangrove::simd
