#include "mangrove/data/subset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"

namespace mangrove::data {
namespace {

class Subset final : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> dataset, std::vector<std::uint32_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {}

  std::uint32_t size() const override { return static_cast<std::uint32_t>(indices_.size()); }
  Shape sample_shape() const override { return dataset_->sample_shape(); }
  const std::vector<std::string>& class_names() const override { return dataset_->class_names(); }
  const CoarseLabels* coarse() const override { return dataset_->coarse(); }
  std::string title() const override { return dataset_->title(); }
  bool decodes() const override { return dataset_->decodes(); }
  /// What is left of the runs, where samples are in their old order.
  std::vector<std::uint32_t> run_ends() const override {
    std::vector<std::uint32_t> ends;
    if (!std::ranges::is_sorted(indices_)) return ends;
    for (const std::uint32_t end : dataset_->run_ends()) {
      const auto left = static_cast<std::uint32_t>(std::ranges::lower_bound(indices_, end) - indices_.begin());
      if (left > (ends.empty() ? 0 : ends.back())) ends.push_back(left);
    }
    return ends;
  }
  std::string name(std::uint32_t index) const override { return dataset_->name(indices_[index]); }
  std::string file(std::uint32_t index) const override { return dataset_->file(indices_[index]); }
  std::int32_t label(std::uint32_t index) const override { return dataset_->label(indices_[index]); }
  Status read(std::uint32_t index, std::span<float> out) const override { return dataset_->read(indices_[index], out); }

 private:
  std::shared_ptr<const Dataset> dataset_;
  std::vector<std::uint32_t> indices_;
};

std::vector<std::vector<std::uint32_t>> indices_by_class(const Dataset& dataset) {
  std::vector<std::vector<std::uint32_t>> by_class(static_cast<std::size_t>(dataset.classes()));
  for (std::uint32_t i = 0; i < dataset.size(); ++i) by_class[static_cast<std::size_t>(dataset.label(i))].push_back(i);
  return by_class;
}

}  // namespace

std::shared_ptr<const Dataset> subset(std::shared_ptr<const Dataset> dataset, std::vector<std::uint32_t> indices) {
  MG_CHECK(std::ranges::all_of(indices, [&](std::uint32_t i) { return i < dataset->size(); }));
  return std::make_shared<Subset>(std::move(dataset), std::move(indices));
}

std::shared_ptr<const Dataset> first_samples(std::shared_ptr<const Dataset> dataset, std::int64_t limit) {
  if (limit <= 0 || limit >= dataset->size()) return dataset;
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(limit));
  std::iota(indices.begin(), indices.end(), 0u);
  return subset(std::move(dataset), std::move(indices));
}

std::shared_ptr<const Dataset> balanced(std::shared_ptr<const Dataset> dataset, std::size_t per_class,
                                        std::uint64_t seed) {
  auto by_class = indices_by_class(*dataset);
  if (per_class == 0)
    for (const auto& members : by_class) per_class = std::max(per_class, members.size());
  std::vector<std::uint32_t> indices, repeats;
  for (std::size_t c = 0; c < by_class.size(); ++c) {
    auto& members = by_class[c];
    if (members.empty()) continue;
    Random random = Random(seed).fork(c);
    random.shuffle(std::span(members));
    for (std::size_t i = 0; i < per_class; ++i)
      (i < members.size() ? indices : repeats).push_back(members[i % members.size()]);
  }
  std::ranges::sort(indices);
  indices.insert(indices.end(), repeats.begin(), repeats.end());
  return subset(std::move(dataset), std::move(indices));
}

CarvedSplits carve(const Dataset& dataset, double validation_share, double test_share, std::uint64_t seed) {
  MG_CHECK(validation_share >= 0 && test_share >= 0 && validation_share + test_share < 1);
  CarvedSplits splits;
  auto by_class = indices_by_class(dataset);
  for (std::size_t c = 0; c < by_class.size(); ++c) {
    auto& members = by_class[c];
    Random random = Random(seed).fork(c);
    random.shuffle(std::span(members));
    const auto part = [&](double share) {
      return static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(members.size())));
    };
    const auto test_end = members.begin() + part(test_share);
    const auto validation_end = members.begin() + part(test_share + validation_share);
    splits.test.insert(splits.test.end(), members.begin(), test_end);
    splits.validation.insert(splits.validation.end(), test_end, validation_end);
    splits.train.insert(splits.train.end(), validation_end, members.end());
  }
  for (auto* split : {&splits.train, &splits.validation, &splits.test}) std::ranges::sort(*split);
  return splits;
}

}  // namespace mangrove::data
