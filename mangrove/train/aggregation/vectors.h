#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace mangrove::train {

/// One vector of each of several workers, all of the same length. The vectors stay in the messages that they came in
/// and are decoded block by block, so they take no memory beside the messages. threads: any, once all vectors are
/// added.
class Vectors {
 public:
  static constexpr std::size_t kBlock = 1024;  // elements

  explicit Vectors(std::size_t elements) : elements_(elements) {}

  /// Adds a vector. floats: `elements` little-endian f32, which must outlive this object. scale: the factor that each
  /// element is multiplied with.
  void add(std::string_view floats, float scale = 1);

  std::size_t count() const { return vectors_.size(); }
  std::size_t elements() const { return elements_; }
  /// Reads the elements [first, first + out.size()) of a vector.
  void read(std::size_t vector, std::size_t first, std::span<float> out) const;
  /// The vectors that have no NaN and no infinity, in the same order.
  Vectors finite() const;

 private:
  struct Vector {
    std::string_view floats;
    float scale;
  };
  bool is_finite(std::size_t vector) const;

  std::size_t elements_;
  std::vector<Vector> vectors_;
};

/// Calls use(first, rows) for one block of elements after the other, in order: row i has the elements of vector i from
/// `first` on. Memory: kBlock floats for each vector.
template <class Use>
void by_block(const Vectors& vectors, const Use& use) {
  std::vector<float> buffer(vectors.count() * Vectors::kBlock);
  std::vector<std::span<const float>> rows(vectors.count());
  for (std::size_t first = 0; first < vectors.elements(); first += Vectors::kBlock) {
    const std::size_t size = std::min(Vectors::kBlock, vectors.elements() - first);
    for (std::size_t i = 0; i < vectors.count(); ++i) {
      const std::span<float> row = std::span(buffer).subspan(i * Vectors::kBlock, size);
      vectors.read(i, first, row);
      rows[i] = row;
    }
    use(first, std::span<const std::span<const float>>(rows));
  }
}

/// out[k] = reduce(the k-th element of each vector, in the order of the vectors), for all k. reduce may change the
/// elements that it is given.
template <class Reduce>
void by_element(const Vectors& vectors, std::span<float> out, const Reduce& reduce) {
  std::vector<float> column(vectors.count());
  by_block(vectors, [&](std::size_t first, std::span<const std::span<const float>> rows) {
    for (std::size_t k = 0; k < rows.front().size(); ++k) {
      for (std::size_t i = 0; i < rows.size(); ++i) column[i] = rows[i][k];
      out[first + k] = reduce(std::span(column));
    }
  });
}

}  // namespace mangrove::train
