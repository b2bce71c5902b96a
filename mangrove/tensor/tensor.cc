#include "mangrove/tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace mangrove {

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  constexpr std::size_t alignment = 64;
  const std::size_t needed = std::max<std::size_t>(static_cast<std::size_t>(bytes()), 1);
  const std::size_t padded = (needed + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, padded));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, padded);
  data_ = std::shared_ptr<std::byte>(memory, [](std::byte* p) { std::free(p); });
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  std::memcpy(copy.data(), data(), static_cast<std::size_t>(bytes()));
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  MG_CHECK_MSG(shape.elements() == elements(), to_string(shape_) + " to " + to_string(shape));
  Tensor view = *this;
  view.shape_ = std::move(shape);
  return view;
}

}  // namespace mangrove
