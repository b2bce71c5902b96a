#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "mangrove/engine/layout.h"
#include "mangrove/tensor/shape.h"

namespace mangrove::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// A oneDNN memory descriptor as a Layout. oneDNN may see a value under other dimensions than ONNX does (the weights of
/// a grouped convolution have one more, those of MatMul are turned), so a layout also knows how plain looks in them.
class BlockedLayout final : public Layout {
 public:
  BlockedLayout(Desc desc, Desc plain) : desc_(std::move(desc)), plain_(std::move(plain)) {}

  Bytes bytes() const override { return static_cast<Bytes>(desc_.get_size()); }
  bool equals(const Layout& other) const override;
  bool is_one_way() const override { return desc_.data.format_kind != dnnl_blocked; }
  /// As oneDNN's format tags: "aBcd16b" is nChw16c.
  std::string describe() const override;

  const Desc& desc() const { return desc_; }
  const Desc& plain() const { return plain_; }

 private:
  Desc desc_;
  Desc plain_;
};

/// f32, row-major.
Desc plain_desc(const Dims& dims);
/// f32, in the format that the primitive likes best.
Desc any_desc(const Dims& dims);

/// The layout of a value that lies as `desc`: null where that is the same memory order as `plain`.
LayoutPtr make_layout(const Desc& desc, const Desc& plain);
/// How a value that looks like `plain` when plain lies in `layout`. A layout made under other dimensions gives `plain`
/// (a step that asks for that gets a reorder).
Desc desc_of(const LayoutPtr& layout, const Desc& plain);

}  // namespace mangrove::onednn
