#include "mangrove/engine/portable/movement.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> movement() {
  return {{"Concat", make_concat},
          {"Split", make_split},
          {"Slice", make_slice},
          {"Pad", make_pad},
          {"Transpose", make_transpose},
          {"Gather", make_gather},
          {"GridSample", make_grid_sample},
          {"Resize", make_resize},
          {"DepthToSpace", make_blocks},
          {"SpaceToDepth", make_blocks},
          {"Tile", make_tile},
          {"Trilu", make_trilu}};
}

}  // namespace mangrove::portable
