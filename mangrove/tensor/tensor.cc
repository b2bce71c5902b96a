#include "mangrove/tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "mangrove/base/process_memory.h"

namespace mangrove {

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  constexpr std::size_t alignment = 64;
  std::size_t space = std::max<std::size_t>(static_cast<std::size_t>(bytes()), 1) + alignment;
  // calloc, not memset: the system gives large zeroed blocks out page by page, as they are written.
  void* const memory = std::calloc(space, 1);
  if (memory == nullptr) throw std::bad_alloc();
  void* aligned = memory;
  std::align(alignment, space - alignment, aligned, space);
  data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(aligned), [memory](std::byte*) { std::free(memory); });
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  take_pages({copy.data(), static_cast<std::size_t>(copy.bytes())});
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
