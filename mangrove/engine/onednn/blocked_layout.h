#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "mangrove/engine/layout.h"
#include "mangrove/tensor/dtype.h"
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
  /// Also weights of bytes that have sums of theirs behind them, with which a kernel makes up for signed inputs.
  bool is_one_way() const override {
    return desc_.data.format_kind != dnnl_blocked || desc_.data.extra.flags != dnnl_memory_extra_flag_none;
  }
  /// As oneDNN's format tags: "aBcd16b" is nChw16c.
  std::string describe() const override;

  const Desc& desc() const { return desc_; }
  const Desc& plain() const { return plain_; }

 private:
  Desc desc_;
  Desc plain_;
};

/// As oneDNN calls it; `undef` for a type that it does not have.
dnnl::memory::data_type data_type_of(DType dtype);
/// Row-major.
Desc plain_desc(const Dims& dims, DType dtype = DType::f32);
/// In the format that the primitive likes best.
Desc any_desc(const Dims& dims, DType dtype = DType::f32);
/// The channels, dimension 1, innermost. `dims` are an image's: [N, C, W] or [N, C, H, W].
Desc channels_last_desc(const Dims& dims, DType dtype);

/// The same order of elements, of another type.
Desc with_type(Desc desc, DType dtype);

/// The layout of a value that lies as `desc`: null where that is the same memory order as `plain`.
LayoutPtr make_layout(const Desc& desc, const Desc& plain);
/// How a value that looks like `plain` when plain lies in `layout`. A layout made under other dimensions gives `plain`
/// (a step that asks for that gets a reorder).
Desc desc_of(const LayoutPtr& layout, const Desc& plain);

}  // namespace mangrove::onednn
