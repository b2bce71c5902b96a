#include "mangrove/engine/portable/broadcast_rows.h"

#include "mangrove/base/check.h"
#include "mangrove/engine/in_parallel.h"

namespace mangrove::portable {
namespace {

// Elements of the input between neighbours along dimension i of the output; the last dimensions of both are the same.
std::int64_t stride_of(const Shape& input, std::size_t i, std::size_t output_rank) {
  const std::size_t at = i + input.rank();
  if (at < output_rank || input[at - output_rank] == 1) return 0;
  return input.elements(at - output_rank + 1, input.rank());
}

}  // namespace

BroadcastRows::BroadcastRows(const std::vector<Shape>& inputs, const Shape& output) : inputs_(inputs.size()) {
  MG_CHECK(inputs_ <= kMostInputs);
  std::vector<Dim> dims;  // outermost first, neighbours merged
  for (std::size_t i = 0; i < output.rank(); ++i) {
    if (output[i] == 1) continue;
    Dim next{output[i], {}};
    for (std::size_t k = 0; k < inputs_; ++k) next.strides[k] = stride_of(inputs[k], i, output.rank());
    const auto can_merge = [&](const Dim& outer) {
      for (std::size_t k = 0; k < inputs_; ++k) {
        if (outer.strides[k] != next.strides[k] * next.size) return false;
      }
      return true;
    };
    if (!dims.empty() && can_merge(dims.back())) {
      next.size *= dims.back().size;
      dims.pop_back();
    }
    dims.push_back(next);
  }
  if (dims.empty()) return;
  length_ = dims.back().size;
  strides_ = dims.back().strides;
  dims.pop_back();
  outer_ = std::move(dims);
}

void BroadcastRows::for_each_part(int threads, Visit visit) const {
  const std::int64_t rows = this->rows();
  in_ranges(rows * length_, threads_for(rows * length_, threads), [&](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t in_row = first % length_, count = std::min(length_ - in_row, last - first);
      Offsets from = offsets(first / length_);
      for (std::size_t k = 0; k < inputs_; ++k) from[k] += in_row * strides_[k];
      visit(first, from, count);
      first += count;
    }
  });
}

void BroadcastRows::for_each_part_adding_to(std::size_t k, int threads, Visit visit) const {
  const std::int64_t rows = this->rows();
  if (rows * length_ == 0) return;
  threads = threads_for(rows * length_, threads);
  const auto shared = std::find_if(outer_.begin(), outer_.end(), [k](const Dim& dim) { return dim.strides[k] != 0; });
  if (shared == outer_.end()) {  // all rows meet the same elements
    in_ranges(length_, strides_[k] == 0 ? 1 : threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = 0; row < rows; ++row) {
        Offsets from = offsets(row);
        for (std::size_t i = 0; i < inputs_; ++i) from[i] += first * strides_[i];
        visit(row * length_ + first, from, last - first);
      }
    });
    return;
  }
  std::int64_t inner = 1;  // rows for each index of the dimension that threads share
  for (auto dim = shared + 1; dim != outer_.end(); ++dim) inner *= dim->size;
  in_ranges(shared->size, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t outer = 0; outer < rows; outer += shared->size * inner) {
      for (std::int64_t row = outer + first * inner; row < outer + last * inner; ++row)
        visit(row * length_, offsets(row), length_);
    }
  });
}

std::int64_t BroadcastRows::rows() const {
  std::int64_t rows = 1;
  for (const Dim& dim : outer_) rows *= dim.size;
  return rows;
}

BroadcastRows::Offsets BroadcastRows::offsets(std::int64_t row) const {
  Offsets from{};
  for (std::size_t i = outer_.size(); i-- > 0; row /= outer_[i].size) {
    const std::int64_t index = row % outer_[i].size;
    for (std::size_t k = 0; k < inputs_; ++k) from[k] += index * outer_[i].strides[k];
  }
  return from;
}

}  // namespace mangrove::portable
