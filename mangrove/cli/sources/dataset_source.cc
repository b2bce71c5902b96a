#include <algorithm>

#include "mangrove/cli/sources/sample_source.h"
#include "mangrove/data/batch_rows.h"
#include "mangrove/learn/replica.h"

namespace mangrove::cli {
namespace {

class DatasetSource : public SampleSource {
 public:
  DatasetSource(std::string input, std::shared_ptr<const data::Dataset> dataset,
                std::shared_ptr<const data::Augmentation> augmentation)
      : input_(std::move(input)), dataset_(std::move(dataset)), augmentation_(std::move(augmentation)) {}

  std::int64_t count() const override { return dataset_->size(); }
  std::string name(std::int64_t sample) const override { return "sample " + std::to_string(sample); }
  bool has_images() const override { return true; }
  std::optional<std::int32_t> label(std::int64_t sample) const override {
    return dataset_->label(static_cast<std::uint32_t>(sample));
  }

  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    const std::vector<std::uint32_t> indices(samples.begin(), samples.end());
    const data::LoaderOptions options{.batch = execution.program().options().batch, .augmentation = augmentation_};
    MG_TRY(data::Batch batch, data::empty_batch(*dataset_, options, indices));
    for (std::size_t first = 0; first < indices.size(); first += data::kRowBlock) {
      const std::size_t last = std::min(first + data::kRowBlock, indices.size());
      if (const auto problem = data::fill_rows(*dataset_, options, indices, 0, first, last, batch)) {
        return problem->error;
      }
    }
    MG_RETURN_IF_ERROR(execution.set_input(input_, batch.images));
    return std::vector<Status>(samples.size());
  }

 private:
  std::string input_;
  std::shared_ptr<const data::Dataset> dataset_;
  std::shared_ptr<const data::Augmentation> augmentation_;
};

class PickedSamples : public SampleSource {
 public:
  PickedSamples(std::shared_ptr<const SampleSource> source, std::vector<std::int64_t> samples)
      : source_(std::move(source)), samples_(std::move(samples)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(samples_.size()); }
  std::string name(std::int64_t sample) const override { return source_->name(at(sample)); }
  bool has_images() const override { return source_->has_images(); }
  std::optional<std::int32_t> label(std::int64_t sample) const override { return source_->label(at(sample)); }

  Result<std::vector<Status>> fill(Execution& execution, std::span<const std::int64_t> samples) const override {
    std::vector<std::int64_t> picked;
    std::ranges::transform(samples, std::back_inserter(picked), [&](std::int64_t sample) { return at(sample); });
    return source_->fill(execution, picked);
  }

 private:
  std::int64_t at(std::int64_t sample) const { return samples_[static_cast<std::size_t>(sample)]; }

  std::shared_ptr<const SampleSource> source_;
  std::vector<std::int64_t> samples_;
};

}  // namespace

Result<std::unique_ptr<SampleSource>> open_dataset_samples(const Graph& graph,
                                                           std::shared_ptr<const data::Dataset> dataset,
                                                           std::shared_ptr<const data::Augmentation> augmentation) {
  MG_RETURN_IF_ERROR(learn::check_classifier(graph));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *dataset));
  return std::make_unique<DatasetSource>(graph.inputs()[0].first, std::move(dataset), std::move(augmentation));
}

std::unique_ptr<SampleSource> pick_samples(std::shared_ptr<const SampleSource> source,
                                           std::vector<std::int64_t> samples) {
  return std::make_unique<PickedSamples>(std::move(source), std::move(samples));
}

}  // namespace mangrove::cli
