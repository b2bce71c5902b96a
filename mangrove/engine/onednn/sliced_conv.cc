#include "mangrove/engine/onednn/sliced_conv.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <memory>

#include "mangrove/engine/accumulate.h"

namespace mangrove::onednn {
namespace {

using Handle = dnnl::primitive_desc_base;

/// An argument of the primitive for the whole batch: all that is kept of an Argument, as long as the program lives.
struct Lies {
  int id;
  Desc desc;
};

bool is_image(int argument) {
  return argument == DNNL_ARG_SRC || argument == DNNL_ARG_DST || argument == DNNL_ARG_DIFF_SRC ||
         argument == DNNL_ARG_DIFF_DST;
}
bool is_sum(int argument) {
  return argument == DNNL_ARG_DIFF_WEIGHTS || argument == DNNL_ARG_DIFF_BIAS;
}

bool batch_is_outermost(const Desc& desc) {
  const auto& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.dims[0] == 0) return false;
  const auto image = static_cast<dnnl_dim_t>(desc.get_size() / sizeof(float)) / data.dims[0];
  return data.format_desc.blocking.strides[0] == image;
}

Desc slice_of(Desc desc, int slices) {
  desc.data.dims[0] /= slices;
  desc.data.padded_dims[0] /= slices;
  return desc;
}

/// The same primitive for 1 / slices of the images. `forward`: likewise sliced; null for a forward primitive.
Handle slice_primitive(const Handle& whole, const Handle* forward, const std::vector<Lies>& arguments, int slices) {
  const dnnl_convolution_desc_t* made_from = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_query(whole.get(), dnnl_query_convolution_d, 0, &made_from),
                          "no descriptor of a convolution");
  dnnl_convolution_desc_t desc = *made_from;
  for (const Lies& argument : arguments) {
    const Desc lies = is_image(argument.id) ? slice_of(argument.desc, slices) : argument.desc;
    switch (argument.id) {
      case DNNL_ARG_SRC:
        desc.src_desc = lies.data;
        break;
      case DNNL_ARG_DST:
        desc.dst_desc = lies.data;
        break;
      case DNNL_ARG_WEIGHTS:
        desc.weights_desc = lies.data;
        break;
      case DNNL_ARG_DIFF_SRC:
        desc.diff_src_desc = lies.data;
        break;
      case DNNL_ARG_DIFF_DST:
        desc.diff_dst_desc = lies.data;
        break;
      case DNNL_ARG_DIFF_WEIGHTS:
        desc.diff_weights_desc = lies.data;
        break;
      default:
        break;  // the bias is a vector
    }
  }
  dnnl_primitive_desc_t sliced = nullptr;
  dnnl::error::wrap_c_api(
      dnnl_primitive_desc_create(&sliced, &desc, whole.get_primitive_attr().get(), whole.get_engine().get(),
                                 forward == nullptr ? nullptr : forward->get()),
      "no primitive for a slice");
  return Handle(sliced);
}

/// The primitive with its arguments; images move from slice to slice, sums of gradients go through a buffer.
class BoundSlices {
 public:
  BoundSlices(const Handle& desc_of_primitive, dnnl::primitive primitive, const std::vector<Lies>& arguments,
              int slices, int threads, std::span<const SliceBuffer> buffers, std::byte* workspace)
      : primitive_(std::move(primitive)), stream_(desc_of_primitive.get_engine()), threads_(threads) {
    std::byte* scratch = workspace;
    if (const Desc scratchpad = desc_of_primitive.scratchpad_desc(); scratchpad.get_size() > 0) {
      add(DNNL_ARG_SCRATCHPAD, scratchpad, {workspace, 0});
      scratch += rounded(scratchpad.get_size());
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto& [id, desc] = arguments[i];
      add(id, is_image(id) ? slice_of(desc, slices) : desc, buffers[i]);
      if (!is_sum(id)) continue;
      sums_.push_back({memories_.size() - 1, reinterpret_cast<float*>(buffers[i].start),
                       reinterpret_cast<float*>(scratch), desc.get_size() / sizeof(float)});
      scratch += rounded(desc.get_size());
    }
  }

  static Bytes workspace_bytes(const Handle& primitive, const std::vector<Lies>& arguments) {
    std::size_t bytes = rounded(primitive.scratchpad_desc().get_size());
    for (const Lies& argument : arguments)
      if (is_sum(argument.id)) bytes += rounded(argument.desc.get_size());
    return static_cast<Bytes>(bytes);
  }

  void run(int slice) {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      if (places_[i].stride != 0) memories_[i].set_data_handle(places_[i].start + slice * places_[i].stride);
    }
    for (const Sum& sum : sums_) memories_[sum.memory].set_data_handle(slice == 0 ? sum.total : sum.term);
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    MG_CHECK_MSG(status == dnnl_success, std::string("oneDNN: ") + dnnl_status2str(status));
    if (slice == 0) return;
    for (const Sum& sum : sums_) accumulate(sum.total, sum.term, sum.elements, threads_);
  }

 private:
  struct Sum {
    std::size_t memory;
    float* total;
    float* term;  // of one slice
    std::size_t elements;
  };

  static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

  void add(int id, const Desc& desc, const SliceBuffer& place) {
    memories_.emplace_back(desc, stream_.get_engine(), place.start);
    places_.push_back(place);
    arguments_.push_back({id, memories_.back().get()});
  }

  dnnl::primitive primitive_;
  dnnl::stream stream_;
  int threads_;
  std::vector<dnnl::memory> memories_;
  std::vector<SliceBuffer> places_;  // parallel to memories_
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<Sum> sums_;
};

Result<SlicedStep> make_sliced(const Handle& whole, const std::optional<Handle>& forward,
                               const std::vector<Lies>& forward_arguments, const std::vector<Lies>& arguments,
                               int slices, int threads) try {
  for (const Lies& argument : arguments) {
    if (is_image(argument.id) && (argument.desc.data.dims[0] % slices != 0 || !batch_is_outermost(argument.desc)))
      return make_error(Code::unimplemented, "slices of uneven size");
  }
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);  // oneDNN decides how to split the work when a primitive is made
  std::optional<Handle> hint;
  if (forward) hint = slice_primitive(*forward, nullptr, forward_arguments, slices);
  const Handle desc = slice_primitive(whole, hint ? &*hint : nullptr, arguments, slices);
  const dnnl::primitive primitive(desc.get());
  omp_set_num_threads(before);
  SlicedStep step;
  step.workspace = BoundSlices::workspace_bytes(desc, arguments);
  step.bind = [=](std::span<const SliceBuffer> buffers, std::byte* workspace) -> SlicedStep::Bound {
    auto bound = std::make_shared<BoundSlices>(desc, primitive, arguments, slices, threads, buffers, workspace);
    return [bound](int slice) { bound->run(slice); };
  };
  return step;
} catch (const dnnl::error& error) {
  return make_error(Code::unimplemented, std::string("oneDNN: ") + error.what());
}

}  // namespace

void allow_slices(Step& step, const dnnl::primitive_desc_base& primitive,
                  const dnnl::convolution_forward::primitive_desc* forward, const std::vector<Argument>& arguments,
                  int threads) {
  Slicing slicing;
  std::vector<Lies> lies;
  for (const Argument& argument : arguments) {
    slicing.split.push_back(is_image(argument.id));
    lies.push_back({argument.id, argument.desc});
  }
  std::optional<Handle> hint;
  std::vector<Lies> hint_lies;
  if (forward != nullptr) {
    hint = *forward;
    hint_lies = {{DNNL_ARG_SRC, forward->src_desc()},
                 {DNNL_ARG_WEIGHTS, forward->weights_desc()},
                 {DNNL_ARG_DST, forward->dst_desc()}};
  }
  slicing.make = [=, whole = Handle(primitive)](int slices) {
    return make_sliced(whole, hint, hint_lies, lies, slices, threads);
  };
  step.slicing = std::move(slicing);
}

}  // namespace mangrove::onednn
