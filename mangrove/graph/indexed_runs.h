#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// What GatherElements, GatherND, ScatterElements and ScatterND pick from their data: runs of neighbouring elements,
/// each of which `components` indices name, that lie one after the other in the tensor of indices.
struct IndexedRuns {
  std::int64_t inner = 1;             // elements of a run
  std::int64_t components = 1;        // indices that name one
  std::vector<std::int64_t> dims;     // the runs: all dimensions of the indices but those of the components
  std::vector<std::int64_t> strides;  // elements of the data between runs that are neighbours in each of them
  std::vector<std::int64_t> indexed;  // per component: the size of the dimension of the data that it is an index of
  std::vector<std::int64_t> pitches;  // per component: elements of the data between its indices

  std::int64_t runs() const;
  /// Where run `run` begins in the data; -1 where one of its indices names nothing. Negative ones count from the end.
  template <class Index>
  std::int64_t offset(const Index* indices, std::int64_t run) const {
    std::int64_t offset = 0;
    std::int64_t rest = run;
    for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i]) offset += rest % dims[i] * strides[i];
    for (std::int64_t i = 0; i < components; ++i) {
      const auto component = static_cast<std::size_t>(i);
      const auto given = static_cast<std::int64_t>(indices[run * components + i]);
      const std::int64_t index = given < 0 ? given + indexed[component] : given;
      if (index < 0 || index >= indexed[component]) return -1;
      offset += index * pitches[component];
    }
    return offset;
  }
};

/// The shape of the runs of a node together, after its shapes were checked: the result of a gathering, or the updates
/// of a scattering. In a shape with a symbolic batch no index may name a sample. errors: invalid_argument (shapes or
/// attributes that do not fit, a constant index outside of its dimension; `indices` may be null), unimplemented (the
/// batch is indexed).
Result<Shape> indexed_shape(const Node& node, const Shape& data, const Shape& shape, const Tensor* indices);

/// With the batch bound, for a node that indexed_shape has checked.
IndexedRuns indexed_runs(const Node& node, const Shape& data, const Shape& indices);

/// What ScatterElements and ScatterND do with an update and the element that is there.
enum class ScatterReduction { none, add, mul, max, min };
/// errors: invalid_argument (another name).
Result<ScatterReduction> scatter_reduction(const Node& node);

}  // namespace mangrove
