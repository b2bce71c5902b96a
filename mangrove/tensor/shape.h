#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace mangrove {

/// The symbolic size of the batch dimension, unknown until a Program is compiled. At most one dimension of a shape is
/// symbolic; it may be any, e.g. the second of a sequence [T, N, C]. A size of -k is k times the batch: attention
/// merges samples and heads, windows merge samples and places.
constexpr std::int64_t kBatch = -1;
/// k of the largest size k N: beyond it a value of one sample would be refused, too.
constexpr std::int64_t kMostBatches = std::int64_t{1} << 40;

/// Sizes of a tensor's dimensions, outermost first, e.g. [N, C, H, W]. Rank 0 is a scalar.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  /// Position of the dimension that is the symbolic batch or a multiple of it; nothing where all have a size.
  std::optional<std::size_t> symbolic_axis() const;
  bool is_symbolic() const { return symbolic_axis().has_value(); }
  /// Position of the dimension that has one place for each sample; nothing where none has, or several for each.
  std::optional<std::size_t> batch_axis() const;
  /// How many times the batch the symbolic dimension is; 1 where none is symbolic.
  std::int64_t batches() const;
  /// Whether dimension 0 is the batch, a multiple of it, or may be: no other one is symbolic.
  bool allows_batch_first() const { return symbolic_axis().value_or(0) == 0; }
  /// The shape with the symbolic batch replaced by n, and k times the batch by k n; unchanged if it is not symbolic.
  Shape with_batch(std::int64_t n) const;
  /// Product of the dimensions; 1 for a scalar. Must not be symbolic.
  std::int64_t elements() const;
  /// Product of dimensions [first, last). Must not include a symbolic one.
  std::int64_t elements(std::size_t first, std::size_t last) const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

/// "[N, 20, 24, 24]": N for a symbolic batch, 3N for three times as much.
std::string to_string(const Shape& shape);

}  // namespace mangrove
