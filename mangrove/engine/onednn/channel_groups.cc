#include "mangrove/engine/onednn/channel_groups.h"

#include <numeric>

namespace mangrove::onednn {
namespace {

/// Groups of a row of `channels`, as wide as they can be.
std::vector<ChannelGroups::Group> pieces_of_row(std::int64_t channels) {
  std::vector<ChannelGroups::Group> groups;
  std::int64_t channel = 0;
  for (const int width : {16, 8, 4, 1}) {
    for (; channel + width <= channels; channel += width) groups.push_back({channel, width, channel});
  }
  return groups;
}

/// Elements after dimension 1, if they lie densely, `stride` floats apart; else 0.
std::int64_t dense_rows(const dnnl_memory_desc_t& data, std::int64_t stride) {
  std::int64_t rows = 1;
  for (int i = data.ndims - 1; i >= 2; --i) {
    if (data.dims[i] != 1 && data.format_desc.blocking.strides[i] != stride * rows) return 0;
    rows *= data.dims[i];
  }
  return rows;
}

}  // namespace

std::optional<ChannelGroups> channel_groups(const Desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.ndims < 2 || data.offset0 != 0) return std::nullopt;
  const auto& blocking = data.format_desc.blocking;
  ChannelGroups result;
  result.images = data.dims[0];
  result.channels = data.dims[1];
  result.padded_channels = data.padded_dims[1];
  const bool is_blocked = blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 1 &&
                          (blocking.inner_blks[0] == 16 || blocking.inner_blks[0] == 8);
  const bool is_channels_last = blocking.inner_nblks == 0 && (data.dims[1] == 1 || blocking.strides[1] == 1);
  if (!is_blocked && !is_channels_last) return std::nullopt;
  result.rows.stride = is_blocked ? blocking.inner_blks[0] : data.dims[1];
  result.rows.count = dense_rows(data, result.rows.stride);
  result.image_stride = result.rows.count * result.padded_channels;
  if (result.rows.count == 0 || (data.dims[0] > 1 && blocking.strides[0] != result.image_stride)) return std::nullopt;
  if (is_channels_last) {
    result.groups = pieces_of_row(result.channels);
    return result;
  }
  const auto width = static_cast<int>(blocking.inner_blks[0]);
  if (result.padded_channels > width && blocking.strides[1] != result.rows.count * width) return std::nullopt;
  for (std::int64_t channel = 0; channel < result.padded_channels; channel += width)
    result.groups.push_back({channel, width, channel * result.rows.count});
  return result;
}

}  // namespace mangrove::onednn
