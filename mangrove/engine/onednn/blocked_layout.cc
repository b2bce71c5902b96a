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
  if (x.data_type != y.data_type || x.extra.flags != y.extra.flags) return false;
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

dnnl::memory::data_type data_type_of(DType dtype) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::f32:
      return Type::f32;
    case DType::i32:
      return Type::s32;
    case DType::i8:
      return Type::s8;
    case DType::u8:
      return Type::u8;
    case DType::f64:
    case DType::i64:
    case DType::boolean:
      break;
  }
  return Type::undef;
}

Desc plain_desc(const Dims& dims, DType dtype) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return Desc(dims, data_type_of(dtype), strides);
}

Desc any_desc(const Dims& dims, DType dtype) {
  return Desc(dims, data_type_of(dtype), dnnl::memory::format_tag::any);
}

Desc channels_last_desc(const Dims& dims, DType dtype) {
  using Tag = dnnl::memory::format_tag;
  return Desc(dims, data_type_of(dtype), dims.size() == 3 ? Tag::nwc : Tag::nhwc);
}

Desc with_type(Desc desc, DType dtype) {
  desc.data.data_type = dnnl::memory::convert_to_c(data_type_of(dtype));
  return desc;
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
