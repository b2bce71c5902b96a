#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/data/dataset.h"
#include "mangrove/data/loader.h"
#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// Samples [1, 6, 6] of `classes` classes (sample i is of class i % classes): a random pattern for each class, with
/// noise added. From sample `broken` on, reading fails.
class Patterns final : public data::Dataset {
 public:
  explicit Patterns(std::uint32_t size, std::int32_t classes = 4, std::uint32_t broken = ~0u);
  std::uint32_t size() const override { return size_; }
  Shape sample_shape() const override { return {1, 6, 6}; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::uint32_t index) const override;
  Status read(std::uint32_t index, std::span<float> out) const override;

 private:
  std::uint32_t size_, broken_;
  std::vector<std::string> names_;
};

/// The first samples of another data set.
class FirstOf final : public data::Dataset {
 public:
  FirstOf(std::shared_ptr<const data::Dataset> whole, std::uint32_t size) : whole_(std::move(whole)), size_(size) {}
  std::uint32_t size() const override { return size_; }
  Shape sample_shape() const override { return whole_->sample_shape(); }
  const std::vector<std::string>& class_names() const override { return whole_->class_names(); }
  std::int32_t label(std::uint32_t index) const override { return whole_->label(index); }
  Status read(std::uint32_t index, std::span<float> out) const override { return whole_->read(index, out); }

 private:
  std::shared_ptr<const data::Dataset> whole_;
  std::uint32_t size_;
};

/// Conv 5 of 3x3, Tanh, Flatten, Gemm to `classes`: for samples [1, 6, 6]: 50 + 81 * classes parameters.
/// Smooth, so that central differences are good; widths are odd, so that blocked layouts have padding.
GraphParts small_parts(std::int64_t classes = 4);
Graph small_network();

/// small_network() with an early exit behind its Tanh: AveragePool of 2x2, Flatten, Gemm to 4 classes.
Graph branchy_network();

/// Conv 5 of 3x3 without bias, BatchNormalization, Relu, Flatten, Dropout if its ratio is above 0, Gemm to 4 classes.
Graph normalized_network(float dropout = 0);

/// Samples first .. first+count-1 in a batch of `rows` rows.
data::Batch batch_of(const data::Dataset& dataset, std::uint32_t first, std::uint32_t count, std::int64_t rows);

}  // namespace mangrove::learn
