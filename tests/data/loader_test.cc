#include "mangrove/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/glyphs.h"
#include "mangrove/data/subset.h"

namespace mangrove::data {
namespace {

/// Sample i is {i, i, i}, with label i; the sample kBad cannot be read. Reads wait while the gate is closed.
class Counting final : public Dataset {
 public:
  static constexpr std::uint32_t kSize = 10'000;
  static constexpr std::uint32_t kBad = 666;

  std::uint32_t size() const override { return kSize; }
  Shape sample_shape() const override { return {3, 1, 1}; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::uint32_t index) const override { return static_cast<std::int32_t>(index); }
  Status read(std::uint32_t index, std::span<float> out) const override {
    reads.fetch_add(1);
    MutexLock lock(mutex_);
    while (closed_) opened_.wait_for(mutex_, 60);
    if (index == kBad) return make_error(Code::data_loss, "sample 666 is bad");
    std::ranges::fill(out, static_cast<float>(index));
    return {};
  }
  std::string name(std::uint32_t index) const override {
    if (index == open_when_named) close(false);
    return Dataset::name(index);
  }
  void close(bool closed) const {
    MutexLock lock(mutex_);
    closed_ = closed;
    opened_.notify_all();
  }

  mutable std::atomic<int> reads = 0;
  std::optional<std::uint32_t> open_when_named;

 private:
  std::vector<std::string> names_ = {"only"};
  mutable Mutex mutex_;
  mutable Condition opened_;
  mutable bool closed_ MG_GUARDED_BY(mutex_) = false;
};

TEST(Loader, DeliversBatchesInOrderAndPadsTheLast) {
  Loader loader(std::make_shared<Counting>(), {.batch = 4});
  loader.request({7, 3, 9, 1});
  loader.request({5, 2});
  loader.request({});
  const std::vector<std::vector<std::int32_t>> labels = {
      {7, 3, 9, 1}, {5, 2, kPadding, kPadding}, {kPadding, kPadding, kPadding, kPadding}};
  for (const auto& expected : labels) {
    const auto batch = loader.next();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    EXPECT_EQ(batch->labels, expected);
    EXPECT_EQ(batch->count, std::ranges::count_if(expected, [](auto label) { return label != kPadding; }));
    EXPECT_EQ(batch->images.shape(), (Shape{4, 3, 1, 1}));
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_EQ(batch->images.as<float>()[i], static_cast<float>(std::max(expected[i / 3], 0)));
  }
}

TEST(Loader, NothingRequestedIsAnError) {
  Loader loader(std::make_shared<Counting>(), {.batch = 2});
  EXPECT_EQ(loader.next().code(), Code::failed_precondition);
  loader.request({1});
  EXPECT_TRUE(loader.next().ok());
  EXPECT_EQ(loader.next().code(), Code::failed_precondition);
}

TEST(Loader, WhatIsWrongWithABatchIsToldAtThatBatchOnly) {
  Loader loader(std::make_shared<Counting>(), {.batch = 2});
  loader.request({1, 2});
  loader.request({1, Counting::kBad});
  loader.request({Counting::kSize});
  loader.request({1, 2, 3});
  loader.request({3, 4});
  EXPECT_TRUE(loader.next().ok());
  const auto unreadable = loader.next();
  EXPECT_EQ(unreadable.code(), Code::data_loss);
  EXPECT_EQ(unreadable.error().message, "sample 666 is bad");
  const auto beyond = loader.next();
  EXPECT_EQ(beyond.code(), Code::out_of_range);
  EXPECT_EQ(beyond.error().message, "sample 10000 asked for of a data set of 10000");
  const auto too_many = loader.next();
  EXPECT_EQ(too_many.code(), Code::invalid_argument);
  EXPECT_EQ(too_many.error().message, "3 samples asked for in one batch of 2");
  EXPECT_EQ(loader.next()->labels, (std::vector<std::int32_t>{3, 4}));
}

TEST(Loader, WaitsForASlowSampleAndSaysWhichItIs) {
  auto dataset = std::make_shared<Counting>();
  dataset->close(true);
  dataset->open_when_named = 5;
  Loader loader(dataset, {.batch = 2, .report_after = 0.01});
  loader.request({5, 6});
  const auto batch = loader.next();  // nothing but the report lets the read go on
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch->labels, (std::vector<std::int32_t>{5, 6}));
}

TEST(Loader, PreparesAheadButNotMoreThanAsked) {
  auto dataset = std::make_shared<Counting>();
  constexpr int kAhead = 3;
  Loader loader(dataset, {.batch = 2, .batches_ahead = kAhead});
  for (std::uint32_t i = 0; i < 20; ++i) loader.request({2 * i, 2 * i + 1});
  const SteadyClock clock;
  for (int taken = 0; taken < 20; ++taken) {
    const int expected = 2 * std::min(taken + kAhead, 20);
    const Deadline deadline = clock.after(30);
    while (dataset->reads < expected && clock.now() < deadline) std::this_thread::yield();
    EXPECT_EQ(dataset->reads, expected);
    ASSERT_TRUE(loader.next().ok());
  }
}

TEST(Loader, GoesWithRequestsOutstanding) {
  auto dataset = std::make_shared<Counting>();
  for (int round = 0; round < 50; ++round) {
    Loader loader(dataset, {.batch = 2});
    for (std::uint32_t i = 0; i < 100; ++i) loader.request({i, i + 1});
    if (round % 2 == 0) {
      EXPECT_TRUE(loader.next().ok());
    }
  }
  EXPECT_LE(dataset->reads, 50 * 2 * 3);  // one batch taken and two ahead, of 2 samples
  EXPECT_EQ(dataset.use_count(), 1);
}

TEST(Loader, RequestsMayComeFromOtherThreads) {
  Loader loader(std::make_shared<Counting>(), {.batch = 1});
  std::vector<std::jthread> requesters;
  for (std::uint32_t t = 0; t < 4; ++t)
    requesters.emplace_back([&loader, t] {
      for (std::uint32_t i = 0; i < 100; ++i) loader.request({1000 * t + i});
    });
  requesters.clear();
  std::array<std::int32_t, 4> expected = {0, 1000, 2000, 3000};
  for (int i = 0; i < 400; ++i) {
    const auto batch = loader.next();
    ASSERT_TRUE(batch.ok());
    EXPECT_EQ(batch->labels[0], expected[static_cast<std::size_t>(batch->labels[0] / 1000)]++);
  }
}

/// The middle of each glyph: the covariances of its few pixels are found in little time, under ThreadSanitizer too.
class SmallGlyphs final : public Dataset {
 public:
  static constexpr std::size_t kSide = 14, kBorder = 7, kWhole = 28;

  std::uint32_t size() const override { return 120; }
  Shape sample_shape() const override { return {1, kSide, kSide}; }
  const std::vector<std::string>& class_names() const override { return glyphs_->class_names(); }
  std::int32_t label(std::uint32_t index) const override { return glyphs_->label(index); }
  Status read(std::uint32_t index, std::span<float> out) const override {
    std::vector<float> whole(kWhole * kWhole);
    MG_RETURN_IF_ERROR(glyphs_->read(index, whole));
    for (std::size_t y = 0; y < kSide; ++y)
      std::copy_n(whole.data() + (y + kBorder) * kWhole + kBorder, kSide, out.data() + y * kSide);
    return {};
  }

 private:
  std::shared_ptr<const Dataset> glyphs_ = make_glyphs(Split::train);
};

/// Everything that `workers` threads make of two epochs of small glyphs: pixels, labels and mixtures.
struct Everything {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> mix_labels;
  std::vector<float> mix_weight;
  bool operator==(const Everything&) const = default;
};
Everything two_epochs(int workers, const std::string& recipe, std::int64_t batch_rows = 37, std::uint64_t seed = 5) {
  const auto glyphs = std::make_shared<SmallGlyphs>();
  LoaderOptions options{.batch = batch_rows, .batches_ahead = 3, .workers = workers, .training = true, .seed = seed};
  options.augmentation = *Augmentation::create(recipe, *glyphs);
  Loader loader(glyphs, options);
  int batches = 0;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const auto order = epoch_order(glyphs->size(), seed, epoch);
    for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(batch_rows), ++batches)
      loader.request({order.begin() + static_cast<std::ptrdiff_t>(first),
                      order.begin() + static_cast<std::ptrdiff_t>(
                                          std::min(first + static_cast<std::size_t>(batch_rows), order.size()))},
                     epoch);
  }
  Everything all;
  for (; batches > 0; --batches) {
    const auto batch = loader.next();
    EXPECT_TRUE(batch.ok());
    const auto rows = static_cast<std::ptrdiff_t>(batch->count);
    const auto pixels =
        batch->images.as<float>().first(static_cast<std::size_t>(rows) * SmallGlyphs::kSide * SmallGlyphs::kSide);
    all.pixels.insert(all.pixels.end(), pixels.begin(), pixels.end());
    all.labels.insert(all.labels.end(), batch->labels.begin(), batch->labels.begin() + rows);
    if (batch->mix_labels.empty()) continue;
    all.mix_labels.insert(all.mix_labels.end(), batch->mix_labels.begin(), batch->mix_labels.begin() + rows);
    all.mix_weight.insert(all.mix_weight.end(), batch->mix_weight.begin(), batch->mix_weight.begin() + rows);
  }
  return all;
}

TEST(Loader, BatchesAreTheSameBitForBitWhateverTheNumberOfWorkers) {
  for (const char* recipe : {"none", "pad-crop:4,flip,normalise,cutout:8,mixup:0.4",
                             "rotation:20,zoom:0.2,translation:0.1,resized-crop:0.5", "colour-jitter:0.2:0.2,zca"}) {
    const Everything one = two_epochs(1, recipe);
    for (const int workers : {2, 4}) EXPECT_EQ(two_epochs(workers, recipe), one) << recipe << ", " << workers;
  }
}

TEST(Loader, RowDependsOnSeedEpochAndIndexOnly) {
  const std::string recipe = "pad-crop:4,flip,normalise,zca,mixup:0.4";
  const Everything one = two_epochs(1, recipe);
  EXPECT_EQ(two_epochs(2, recipe, 16), one) << "other batches";
  EXPECT_NE(two_epochs(1, recipe, 37, 6), one) << "another seed";
}

TEST(Loader, EveryEpochTransformsASampleAnew) {
  const auto glyphs = first_samples(make_glyphs(Split::train), 8);
  LoaderOptions options{.batch = 8, .training = true};
  options.augmentation = *Augmentation::create("pad-crop:4", *glyphs);
  Loader loader(glyphs, options);
  for (const std::uint64_t epoch : {0u, 1u, 0u}) loader.request({0, 1, 2, 3, 4, 5, 6, 7}, epoch);
  const auto first = *loader.next(), second = *loader.next(), again = *loader.next();
  EXPECT_FALSE(std::ranges::equal(first.images.as<float>(), second.images.as<float>()));
  EXPECT_TRUE(std::ranges::equal(first.images.as<float>(), again.images.as<float>()));
}

TEST(Loader, MixedRowsAreTheSharesOfBothSamples) {
  const auto counting = std::make_shared<Counting>();
  LoaderOptions options{.batch = 40, .training = true};
  options.augmentation = *Augmentation::create("mixup:1", *first_samples(counting, 600));
  Loader loader(first_samples(counting, 600), options);
  std::vector<std::uint32_t> indices(30);
  std::iota(indices.begin(), indices.end(), 100u);
  loader.request(indices);
  const auto batch = *loader.next();
  ASSERT_EQ(batch.mix_labels.size(), 40u);
  for (std::size_t row = 0; row < 30; ++row) {
    // the label of a Counting sample is its value
    const float weight = batch.mix_weight[row];
    const float expected =
        weight * static_cast<float>(batch.labels[row]) + (1 - weight) * static_cast<float>(batch.mix_labels[row]);
    EXPECT_EQ(batch.labels[row], static_cast<std::int32_t>(100 + row));
    EXPECT_NEAR(batch.images.as<float>()[row * 3], expected, 1e-3) << row;
  }
  EXPECT_EQ(batch.mix_labels[30], kPadding);
  EXPECT_EQ(batch.mix_weight[30], 1);
  options.training = false;
  Loader evaluation(counting, options);
  evaluation.request({1});
  EXPECT_TRUE(evaluation.next()->mix_labels.empty());
}

TEST(Loader, FirstOfSeveralBadSamplesIsTold) {
  class Bad final : public Dataset {
   public:
    std::uint32_t size() const override { return 100; }
    Shape sample_shape() const override { return {1, 1, 1}; }
    const std::vector<std::string>& class_names() const override { return names_; }
    std::int32_t label(std::uint32_t) const override { return 0; }
    Status read(std::uint32_t index, std::span<float>) const override {
      return index % 10 == 7 ? Status(make_error(Code::data_loss, "sample " + std::to_string(index))) : Status();
    }

   private:
    std::vector<std::string> names_ = {"only"};
  };
  std::vector<std::uint32_t> indices(100);
  std::iota(indices.begin(), indices.end(), 0u);
  Loader loader(std::make_shared<Bad>(), {.batch = 100, .workers = 4});
  for (int i = 0; i < 20; ++i) loader.request(indices);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(loader.next().error().message, "sample 7");
}

}  // namespace
}  // namespace mangrove::data
