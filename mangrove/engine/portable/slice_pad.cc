#include <numeric>

#include "mangrove/engine/portable/axis_maps_step.h"
#include "mangrove/engine/portable/movement.h"
#include "mangrove/graph/movement_geometry.h"

namespace mangrove::portable {
namespace {

using PadMode = PadGeometry::Mode;
using Map = std::vector<std::int64_t>;

Map pad_map(std::int64_t size, std::int64_t before, std::int64_t after, PadMode mode) {
  Map map;
  for (std::int64_t i = -before; i < size + after; ++i) {
    std::int64_t from = i;
    if (mode == PadMode::edge) from = std::clamp<std::int64_t>(i, 0, size - 1);
    if (mode == PadMode::reflect) from = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    map.push_back(from >= 0 && from < size ? from : AxisMaps::kNone);
  }
  return map;
}

}  // namespace

Result<NodeKernels> make_slice(const KernelRequest& request) {
  const Shape& data = request.inputs[0].shape;
  MG_TRY(const std::vector<AxisSlice> slices, slice_geometry(request.node, data, request.constants));
  std::vector<Map> maps;
  for (const AxisSlice& slice : slices) {
    Map map;
    for (std::int64_t i = 0; i < slice.count; ++i) map.push_back(slice.start + i * slice.step);
    maps.push_back(std::move(map));
  }
  return axis_maps_kernels(request, AxisMaps(data, maps), 0);
}

Result<NodeKernels> make_pad(const KernelRequest& request) {
  const Shape& data = request.inputs[0].shape;
  MG_TRY(const PadGeometry geometry, pad_geometry(request.node, data, request.constants));
  std::vector<Map> maps;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    maps.push_back(pad_map(data[i], geometry.before[i], geometry.after[i], geometry.mode));
  }
  return axis_maps_kernels(request, AxisMaps(data, maps), geometry.value);
}

}  // namespace mangrove::portable
