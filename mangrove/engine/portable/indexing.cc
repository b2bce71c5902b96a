#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/arithmetic.h"
#include "mangrove/engine/portable/axis_rows.h"
#include "mangrove/engine/portable/element_type.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/axis.h"
#include "mangrove/graph/indexed_runs.h"

namespace mangrove::portable {
namespace {

IndexedRuns runs_of(const KernelRequest& request) {
  return indexed_runs(request.node, request.inputs[0].shape, request.inputs[1].shape);
}

// y[run] = data[what its indices name], or 0 where that is nothing.
template <class T, class Index>
void gather_runs(const IndexedRuns& runs, int threads, const T* data, const Index* indices, T* y) {
  const std::int64_t count = runs.runs();
  in_parallel(count, threads_for(count * runs.inner, threads), [&](std::int64_t run) {
    T* to = y + run * runs.inner;
    if (const std::int64_t from = runs.offset(indices, run); from >= 0) {
      std::copy_n(data + from, runs.inner, to);
    } else {
      std::fill_n(to, runs.inner, T(0));
    }
  });
}

// combine(data[what the indices of a run name], updates[run]), in the order of the runs: several may name one element.
template <class T, class Index, class Combine>
void scatter_runs(const IndexedRuns& runs, const Index* indices, const T* updates, T* data, Combine combine) {
  const std::int64_t count = runs.runs();
  for (std::int64_t run = 0; run < count; ++run) {
    const std::int64_t to = runs.offset(indices, run);
    if (to < 0) continue;
    for (std::int64_t i = 0; i < runs.inner; ++i) data[to + i] = combine(data[to + i], updates[run * runs.inner + i]);
  }
}

constexpr auto kSum = [](auto a, auto b) { return wrapping(a, b, std::plus<>()); };

template <class T, class Index>
NodeKernels gather_kernels(const KernelRequest& request) {
  const std::string &data = request.node.inputs[0], &indices = request.node.inputs[1], &y = request.output_names[0];
  const IndexedRuns runs = runs_of(request);
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", {read_value(data), read_value(indices), write_value(y)},
                                      [runs, threads = request.threads](const Buffers& buffers) {
                                        gather_runs(runs, threads, buffers.as<const T>(0), buffers.as<const Index>(1),
                                                    buffers.as<T>(2));
                                      }));
  if constexpr (std::is_floating_point_v<T>) {
    if (!wants_gradient(request, 0)) return kernels;
    const std::int64_t elements = request.inputs[0].shape.elements();
    kernels.backward.push_back(
        make_step(request, "backward", {read_gradient(y), read_value(indices), write_gradient(data)},
                  [runs, elements](const Buffers& buffers) {
                    std::fill_n(buffers.as<T>(2), elements, T(0));
                    scatter_runs(runs, buffers.as<const Index>(1), buffers.as<const T>(0), buffers.as<T>(2), kSum);
                  }));
  }
  return kernels;
}

template <class T, class Index>
Step scatter_forward(const KernelRequest& request, ScatterReduction reduction) {
  const Node& node = request.node;
  const std::int64_t elements = request.outputs[0].shape.elements();
  const auto scatter = [runs = runs_of(request), reduction](const Index* indices, const T* updates, T* y) {
    switch (reduction) {
      case ScatterReduction::none:
        return scatter_runs(runs, indices, updates, y, [](T, T update) { return update; });
      case ScatterReduction::add:
        return scatter_runs(runs, indices, updates, y, kSum);
      case ScatterReduction::mul:
        return scatter_runs(runs, indices, updates, y, [](T a, T b) { return wrapping(a, b, std::multiplies<>()); });
      case ScatterReduction::max:
        return scatter_runs(runs, indices, updates, y, [](T a, T b) { return std::max(a, b); });
      case ScatterReduction::min:
        return scatter_runs(runs, indices, updates, y, [](T a, T b) { return std::min(a, b); });
    }
  };
  Step step = make_step(request, "forward",
                        {read_value(node.inputs[0]), read_value(node.inputs[1]), read_value(node.inputs[2]),
                         write_value(request.output_names[0])},
                        [scatter, elements](const Buffers& buffers) {
                          const T* data = buffers.as<const T>(0);
                          T* y = buffers.as<T>(3);
                          if (y != data) std::copy_n(data, elements, y);
                          scatter(buffers.as<const Index>(1), buffers.as<const T>(2), y);
                        });
  step.in_place = {0, 3};
  return step;
}

// Of the data: dy, but 0 where it was replaced.
template <class T, class Index>
Step scatter_data_gradient(const KernelRequest& request, bool replaces) {
  const std::int64_t elements = request.outputs[0].shape.elements();
  return make_step(request, "backward data",
                   {read_gradient(request.output_names[0]), read_value(request.node.inputs[1]),
                    write_gradient(request.node.inputs[0])},
                   [elements, replaces, runs = runs_of(request)](const Buffers& buffers) {
                     T* diff = buffers.as<T>(2);
                     std::copy_n(buffers.as<const T>(0), elements, diff);
                     const std::int64_t count = replaces ? runs.runs() : 0;
                     for (std::int64_t run = 0; run < count; ++run) {
                       const std::int64_t to = runs.offset(buffers.as<const Index>(1), run);
                       if (to >= 0) std::fill_n(diff + to, runs.inner, T(0));
                     }
                   });
}

// Of the updates: the dy of what they name; where they replace, of the last one that names it.
template <class T, class Index>
Step scatter_updates_gradient(const KernelRequest& request, bool replaces) {
  const std::int64_t elements = request.outputs[0].shape.elements();
  return make_step_with_workspace(
      request, "backward updates",
      {read_gradient(request.output_names[0]), read_value(request.node.inputs[1]),
       write_gradient(request.node.inputs[2])},
      replaces ? elements : 0,
      [=, runs = runs_of(request), threads = request.threads](const Buffers& buffers, std::byte* workspace) {
        const Index* indices = buffers.as<const Index>(1);
        T* diff = buffers.as<T>(2);
        gather_runs(runs, threads, buffers.as<const T>(0), indices, diff);
        if (!replaces) return;
        bool* is_taken = reinterpret_cast<bool*>(workspace);
        std::uninitialized_fill_n(is_taken, elements, false);
        for (std::int64_t run = runs.runs(); run-- > 0;) {
          const std::int64_t to = runs.offset(indices, run);
          for (std::int64_t i = 0; to >= 0 && i < runs.inner; ++i) {
            if (std::exchange(is_taken[to + i], true)) diff[run * runs.inner + i] = T(0);
          }
        }
      });
}

template <class T, class Index>
Result<NodeKernels> scatter_kernels(const KernelRequest& request) {
  MG_TRY(const ScatterReduction reduction, scatter_reduction(request.node));
  NodeKernels kernels;
  kernels.forward.push_back(scatter_forward<T, Index>(request, reduction));
  if constexpr (std::is_floating_point_v<T>) {
    if (!wants_gradient(request, 0) && !wants_gradient(request, 2)) return kernels;
    const bool replaces = reduction == ScatterReduction::none;
    if (!replaces && reduction != ScatterReduction::add) {
      return make_error(Code::unimplemented, "has no gradient with attribute reduction '" +
                                                 request.node.string_or("reduction", "none") +
                                                 "', only with none and add");
    }
    if (wants_gradient(request, 0)) kernels.backward.push_back(scatter_data_gradient<T, Index>(request, replaces));
    if (wants_gradient(request, 2)) kernels.backward.push_back(scatter_updates_gradient<T, Index>(request, replaces));
  }
  return kernels;
}

// make(element of the data, index) for the types of inputs 0 and 1.
template <class Make>
Result<NodeKernels> for_data_and_index(const KernelRequest& request, Make make) {
  return for_any_type(request.inputs[0].dtype, [&](auto data) {
    return for_one_of<std::int64_t, std::int32_t>(request.inputs[1].dtype,
                                                  [&](auto index) { return make(data, index); });
  });
}

Result<NodeKernels> make_indexed_gather(const KernelRequest& request) {
  return for_data_and_index(request, [&](auto data, auto index) {
    return Result<NodeKernels>(gather_kernels<decltype(data), decltype(index)>(request));
  });
}

Result<NodeKernels> make_scatter(const KernelRequest& request) {
  return for_data_and_index(
      request, [&](auto data, auto index) { return scatter_kernels<decltype(data), decltype(index)>(request); });
}

// Which of `depth` positions an index names. Reals are cut towards zero; a number that is none names nothing.
template <class Index>
std::optional<std::int64_t> position_of(Index index, std::int64_t depth) {
  const auto size = static_cast<double>(depth);
  const double given = std::trunc(static_cast<double>(index));
  if (!(given >= -size && given < size)) return std::nullopt;
  const auto position = static_cast<std::int64_t>(given);
  return position < 0 ? position + depth : position;
}

template <class Index, class T>
NodeKernels one_hot_kernels(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  const AxisRows rows(shape, resolve_axis(request.node.int_or("axis", -1), shape).value());
  NodeKernels kernels;
  kernels.forward.push_back(make_step(
      request, "forward",
      {read_value(request.node.inputs[0]), read_value(request.node.inputs[2]), write_value(request.output_names[0])},
      [rows](const Buffers& buffers) {
        const T* values = buffers.as<const T>(1);
        T* y = buffers.as<T>(2);
        std::fill_n(y, rows.rows() * rows.length, values[0]);
        for (std::int64_t row = 0; row < rows.rows(); ++row) {
          const auto position = position_of(buffers.as<const Index>(0)[row], rows.length);
          if (position) y[rows.begin(row) + *position * rows.stride] = values[1];
        }
      }));
  return kernels;
}

Result<NodeKernels> make_one_hot(const KernelRequest& request) {
  return for_numeric_type(request.inputs[0].dtype, [&](auto index) {
    return for_element_size(request.outputs[0].dtype,
                            [&](auto value) { return one_hot_kernels<decltype(index), decltype(value)>(request); });
  });
}

}  // namespace

std::vector<KernelRow> indexing() {
  return {{"GatherElements", make_indexed_gather},
          {"GatherND", make_indexed_gather},
          {"OneHot", make_one_hot},
          {"ScatterElements", make_scatter},
          {"ScatterND", make_scatter}};
}

}  // namespace mangrove::portable
