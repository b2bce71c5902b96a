#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/units.h"
#include "mangrove/tensor/dtype.h"
#include "mangrove/tensor/shape.h"

namespace mangrove {

/// A dense, row-major array in host memory, aligned to 64 bytes. Copying a Tensor copies a reference: both see the same
/// elements. clone() copies the elements.
/// threads: as a shared_ptr to plain memory.
class Tensor {
 public:
  /// An empty tensor: f32, shape [0].
  Tensor() : Tensor(DType::f32, Shape{0}) {}
  /// Elements are zero. Takes up memory only where it is written.
  Tensor(DType dtype, Shape shape);

  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& elements) {
    Tensor tensor(dtype_of<T>, std::move(shape));
    MG_CHECK(static_cast<std::int64_t>(elements.size()) == tensor.elements());
    if (!elements.empty()) std::memcpy(tensor.data(), elements.data(), elements.size() * sizeof(T));
    return tensor;
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  Bytes bytes() const { return elements() * static_cast<Bytes>(size_of(dtype_)); }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  /// The elements, in row-major order. T must be the tensor's type.
  template <class T>
  std::span<T> as() {
    MG_CHECK(dtype_ == dtype_of<T>);
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> as() const {
    MG_CHECK(dtype_ == dtype_of<T>);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(elements())};
  }

  Tensor clone() const;
  /// The same elements under another shape with the same number of elements.
  Tensor reshaped(Shape shape) const;

 private:
  DType dtype_;
  Shape shape_;
  std::shared_ptr<std::byte> data_;
};

}  // namespace mangrove
