#include "mangrove/learn/features.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/learn/networks.h"

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/cached.h"
#include "mangrove/data/loader.h"
#include "mangrove/data/prepared.h"
#include "mangrove/graph/split.h"
#include "mangrove/learn/replica.h"

namespace mangrove::learn {
namespace {

Graph front() {
  return split_behind(small_network(), "flatten").value().front;
}

std::vector<float> read(const data::Dataset& dataset, std::uint32_t index) {
  std::vector<float> sample(static_cast<std::size_t>(dataset.sample_shape().elements()));
  EXPECT_TRUE(dataset.read(index, sample).ok());
  return sample;
}

TEST(Features, AreWhatTheNetworkGives) {
  const auto patterns = std::make_shared<Patterns>(8);
  const auto extractor = FeatureExtractor::create(front(), "portable", 1);
  ASSERT_TRUE(extractor.ok()) << extractor.error().message;
  const auto features = features_of(patterns, *extractor);
  ASSERT_TRUE(features.ok()) << features.error().message;
  EXPECT_EQ((*features)->sample_shape(), (Shape{80}));
  EXPECT_TRUE((*features)->decodes());
  EXPECT_EQ((*features)->label(5), patterns->label(5));
  const auto program = Program::compile(front(), {.batch = 8, .backend = "portable"});
  const auto execution = Execution::create(*program).value();
  const auto input = execution->input<float>("input");
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(patterns->read(i, input.subspan(i * 36, 36)).ok());
  execution->forward();
  const auto output = execution->output<float>(front().outputs()[0]);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::vector<float> feature = read(**features, i);
    for (std::size_t k = 0; k < 80; ++k) EXPECT_NEAR(feature[k], output[i * 80 + k], 1e-6);
  }
}

TEST(Features, KeptOrComputedAgainAreTheSameOnAnyThread) {
  const auto extractor = FeatureExtractor::create(front(), "", 1).value();
  const std::shared_ptr<const data::Dataset> features = features_of(std::make_shared<Patterns>(50), extractor).value();
  std::vector<std::vector<float>> expected;
  for (std::uint32_t i = 0; i < 50; ++i) expected.push_back(read(*features, i));
  const auto kept = data::cached(features, 1 << 20);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int epoch = 0; epoch < 2; ++epoch)
        for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(read(*kept, i), expected[i]);
    });
}

TEST(Features, WhatDoesNotFitIsRefused) {
  const auto extractor = FeatureExtractor::create(split_behind(small_network(), "flatten").value().back, "", 1).value();
  const auto features = features_of(std::make_shared<Patterns>(8), extractor);
  ASSERT_FALSE(features.ok());
  EXPECT_EQ(features.error().message, "the network takes samples [80], the data set has [1, 6, 6]");
  const auto broken =
      features_of(std::make_shared<Patterns>(8, 4, 3u), FeatureExtractor::create(front(), "", 1).value());
  std::vector<float> sample(80);
  EXPECT_FALSE((*broken)->read(3, sample).ok());
}

TEST(Prepared, SamplesAreAsALoaderHasThemInItsFirstEpoch) {
  const auto patterns = std::make_shared<Patterns>(20);
  const auto augmentation = data::Augmentation::create("rotation:30,flip,normalise:0.5:0.25", *patterns).value();
  for (const bool training : {true, false}) {
    data::Loader loader(patterns, {.batch = 20, .augmentation = augmentation, .training = training, .seed = 7});
    std::vector<std::uint32_t> all(20);
    for (std::uint32_t i = 0; i < 20; ++i) all[i] = i;
    loader.request(all, 0);
    const data::Batch batch = loader.next().value();
    const auto prepared = data::prepared(patterns, augmentation, training, 7);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const auto row = batch.images.as<float>().subspan(i * 36, 36);
      EXPECT_EQ(read(*prepared, i), std::vector<float>(row.begin(), row.end())) << i;
    }
  }
}

}  // namespace
}  // namespace mangrove::learn
