#include "mangrove/learn/image_input.h"

#include <gtest/gtest.h>

#include "mangrove/learn/preparation.h"

namespace mangrove::learn {
namespace {

using Metadata = std::map<std::string, std::string>;

const Shape kSample{1, 1, 2};
/// One pixel of 0 and one of 255, in grey.
const data::Image kImage{.width = 2, .height = 1, .channels = 1, .pixels = {0, 255}};

std::vector<float> prepared_for(const Metadata& metadata) {
  const auto preparation = image_preparation_of(metadata, kSample, "/");
  EXPECT_TRUE(preparation.ok()) << preparation.error().message;
  std::vector<float> out(2);
  prepare_image(kImage, kSample, *preparation, out);
  return out;
}

TEST(ImageInput, IsPreparedAsTheMetadataSay) {
  EXPECT_EQ(prepared_for({}), (std::vector<float>{0, 1}));
  EXPECT_EQ(prepared_for({{"mangrove.mean", "0.5"}, {"mangrove.std", "0.25"}}), (std::vector<float>{-2, 2}));
  EXPECT_EQ(prepared_for({{kAugmentationKey, "normalise:0.5:0.5"}, {"mangrove.mean", "7"}}),
            (std::vector<float>{-1, 1}))
      << "as in training, if that is known";
}

TEST(ImageInput, NumbersThatAreNoneNameTheirKey) {
  const auto numbers = image_numbers_of({{"mangrove.std", "0.5,x"}});
  ASSERT_FALSE(numbers.ok());
  EXPECT_EQ(numbers.error().message,
            "model metadata mangrove.std: '0.5,x' is not a list of numbers like 0.485,0.456,0.406");
}

TEST(ImageInput, OnlySomeNetworksTakeImages) {
  const auto takes = [](const ValueInfo& input, const ImagePreparation& preparation = {}) {
    return check_takes_images({{"x", input}}, preparation).ok();
  };
  EXPECT_TRUE(takes({DType::f32, {kBatch, 3, 8, 8}}));
  EXPECT_TRUE(takes({DType::f32, {1, 1, 8, 8}}));
  EXPECT_FALSE(takes({DType::f32, {kBatch, 2, 8, 8}}));
  EXPECT_FALSE(takes({DType::f64, {kBatch, 3, 8, 8}}));
  EXPECT_FALSE(takes({DType::f32, {kBatch, 3}}));
  EXPECT_FALSE(takes({DType::f32, {8, 3, 8, kBatch}}));
  EXPECT_FALSE(takes({DType::f32, {kBatch, 3, 8, 8}}, {.mean = {1, 2}}));
  EXPECT_FALSE(takes({DType::f32, {kBatch, 3, 8, 8}}, {.deviation = {0}}));
  EXPECT_FALSE(check_takes_images({}, {}).ok());
}

}  // namespace
}  // namespace mangrove::learn
