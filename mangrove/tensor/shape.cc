#include "mangrove/tensor/shape.h"

#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/tensor/dtype.h"

namespace mangrove {

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

std::optional<std::size_t> Shape::symbolic_axis() const {
  const auto found = std::find_if(begin(), end(), [](std::int64_t dim) { return dim < 0; });
  if (found == end()) return std::nullopt;
  return static_cast<std::size_t>(found - begin());
}

std::optional<std::size_t> Shape::batch_axis() const {
  const auto axis = symbolic_axis();
  return axis && dims_[*axis] == kBatch ? axis : std::nullopt;
}

std::int64_t Shape::batches() const {
  const auto axis = symbolic_axis();
  return axis ? -dims_[*axis] : 1;
}

Shape Shape::with_batch(std::int64_t n) const {
  Shape bound = *this;
  if (const auto axis = symbolic_axis()) bound.dims_[*axis] *= -n;
  return bound;
}

std::int64_t Shape::elements() const {
  return elements(0, rank());
}

std::int64_t Shape::elements(std::size_t first, std::size_t last) const {
  std::int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) {
    MG_CHECK_MSG(dims_[i] >= 0, "symbolic dimension in " + to_string(*this));
    product *= dims_[i];
  }
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    if (shape[i] < 0 && shape[i] != kBatch) text += std::to_string(shape[i]).substr(1);
    text += shape[i] < 0 ? "N" : std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace mangrove
