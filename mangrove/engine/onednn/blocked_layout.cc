#include "mangrove/engine/onednn/blocked_layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace mangrove::onednn {
namespace {

/// Dimensions of size 1 have no say in the order of elements, but oneDNN's comparison looks at their strides too.
bool same_order(const Desc& a, const Desc& b) {
  if (a == b) return true;
  const auto& x = a.data;
  const auto& y = b.data;
  if (x.format_kind != dnnl_blocked || y.format_kind != dnnl_blocked) return false;
  if (x.ndims != y.ndims || x.format_desc.blocking.inner_nblks != 0 || y.format_desc.blocking.inner_nblks != 0)
    return false;
  for (int i = 0; i < x.ndims; ++i) {
    if (x.dims[i] != y.dims[i] || x.padded_dims[i] != x.dims[i] || y.padded_dims[i] != y.dims[i]) return false;
    if (x.dims[i] > 1 && x.format_desc.blocking.strides[i] != y.format_desc.blocking.strides[i]) return false;
  }
  return true;
}

}  // namespace

bool BlockedLayout::equals(const Layout& other) const {
  const auto* blocked = dynamic_cast<const BlockedLayout*>(&other);
  return blocked != nullptr && blocked->plain_ == plain_ && blocked->desc_ == desc_;
}

std::string BlockedLayout::describe() const {
  const auto& data = desc_.data;
  if (data.format_kind != dnnl_blocked) return "opaque";
  const auto& blocking = data.format_desc.blocking;
  std::vector<int> order(static_cast<std::size_t>(data.ndims));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
  std::string text;
  for (int dim : order) {
    const bool is_blocked = std::find(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks, dim) !=
                            blocking.inner_idxs + blocking.inner_nblks;
    text += static_cast<char>((is_blocked ? 'A' : 'a') + dim);
  }
  for (int i = 0; i < blocking.inner_nblks; ++i)
    text += std::to_string(blocking.inner_blks[i]) + static_cast<char>('a' + blocking.inner_idxs[i]);
  return text;
}

Desc plain_desc(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return Desc(dims, dnnl::memory::data_type::f32, strides);
}

Desc any_desc(const Dims& dims) {
  return Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

LayoutPtr make_layout(const Desc& desc, const Desc& plain) {
  if (same_order(desc, plain)) return nullptr;
  return std::make_shared<BlockedLayout>(desc, plain);
}

Desc desc_of(const LayoutPtr& layout, const Desc& plain) {
  const auto* blocked = dynamic_cast<const BlockedLayout*>(layout.get());
  return blocked != nullptr && blocked->plain() == plain ? blocked->desc() : plain;
}

}  // namespace mangrove::onednn
