#include "mangrove/data/cached.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace mangrove::data {
namespace {

/// Counts how often samples are decoded. Sample i is i / 255 everywhere.
class Decoding final : public Dataset {
 public:
  std::uint32_t size() const override { return 100; }
  Shape sample_shape() const override { return {1, 10, 10}; }
  const std::vector<std::string>& class_names() const override { return names_; }
  bool decodes() const override { return true; }
  std::int32_t label(std::uint32_t) const override { return 0; }
  Status read(std::uint32_t index, std::span<float> out) const override {
    ++reads;
    if (index == 99) return make_error(Code::data_loss, "sample 99");
    std::ranges::fill(out, static_cast<float>(index) / 255.0f);
    return {};
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::vector<std::string> names_ = {"only"};
};

constexpr Bytes kOverhead = 100 * sizeof(std::string);

void read_all(const Dataset& dataset) {
  std::vector<float> sample(100);
  for (std::uint32_t i = 0; i < 99; ++i) {
    ASSERT_TRUE(dataset.read(i, sample).ok());
    ASSERT_EQ(sample[0], static_cast<float>(i) / 255.0f);
    ASSERT_EQ(sample[99], sample[0]);
  }
}

TEST(Cached, DecodesWhatFitsOnlyOnce) {
  const auto decoding = std::make_shared<Decoding>();
  const auto all = cached(decoding, kOverhead + 99 * 100);
  for (int epoch = 0; epoch < 3; ++epoch) read_all(*all);
  EXPECT_EQ(decoding->reads, 99);
  EXPECT_FALSE(all->decodes()) << "what is in memory is not worth another cache";
}

TEST(Cached, WhatDoesNotFitIsDecodedEveryTime) {
  const auto decoding = std::make_shared<Decoding>();
  const auto some = cached(decoding, kOverhead + 40 * 100 + 99);
  for (int epoch = 0; epoch < 3; ++epoch) read_all(*some);
  EXPECT_EQ(decoding->reads, 40 + 3 * 59);
  EXPECT_EQ(cached(decoding, kOverhead), decoding) << "no room for one";
  EXPECT_EQ(cached(decoding, 0), decoding);
}

TEST(Cached, ErrorsAreNotKept) {
  const auto all = cached(std::make_shared<Decoding>(), 1 << 20);
  std::vector<float> sample(100);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(all->read(99, sample).code(), Code::data_loss);
}

TEST(Cached, ThreadsReadTheSame) {
  const auto some = cached(std::make_shared<Decoding>(), kOverhead + 50 * 100);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int epoch = 0; epoch < 5; ++epoch) read_all(*some);
    });
}

}  // namespace
}  // namespace mangrove::data
