#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/engine/onednn/blocked_layout.h"
#include "mangrove/engine/onednn/channel_loops.h"

namespace mangrove::onednn {

/// A value [N, C, ...] cut into groups of neighbouring channels that lie side by side, one vector each: the blocks of a
/// blocked layout, or pieces of the rows of a channels-last one.
struct ChannelGroups {
  struct Group {
    std::int64_t channel;  // the first
    int width;             // 16, 8, 4 or 1
    std::int64_t offset;   // in floats, from the start of an image
  };
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t padded_channels = 0;  // channels with the zeros that fill the last block
  std::int64_t image_stride = 0;     // floats
  Rows rows;                         // of one group in one image
  std::vector<Group> groups;
};

/// Nullopt where channels do not lie side by side.
std::optional<ChannelGroups> channel_groups(const Desc& desc);

}  // namespace mangrove::onednn
