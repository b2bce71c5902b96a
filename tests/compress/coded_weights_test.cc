#include "mangrove/compress/coded_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "mangrove/base/random.h"

namespace mangrove::compress {
namespace {

/// Of so many in a thousand weights that are not zero, each one of so many values (0: of its own).
Tensor sparse_weights(Shape shape, std::uint64_t kept_per_mille, std::uint64_t values, std::uint64_t seed) {
  Random random(seed);
  Tensor weights(DType::f32, std::move(shape));
  for (float& weight : weights.as<float>())
    if (random.below(1000) < kept_per_mille)
      weight = values == 0 ? static_cast<float>(random.normal()) : 0.25f * static_cast<float>(1 + random.below(values));
  return weights;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

struct WeightsCase {
  const char* name;
  Tensor weights;
};
class CodedWeightsOf : public ::testing::TestWithParam<WeightsCase> {};
INSTANTIATE_TEST_SUITE_P(
    CodedWeights, CodedWeightsOf,
    ::testing::Values(WeightsCase{"none", Tensor(DType::f32, {0, 4})}, WeightsCase{"one", Tensor::of<float>({}, {-3})},
                      WeightsCase{"zeros", Tensor(DType::f32, {30, 40})},
                      WeightsCase{"dense", sparse_weights({20, 3, 5, 5}, 1000, 0, 1)},
                      WeightsCase{"sparse", sparse_weights({64, 100}, 50, 0, 2)},
                      WeightsCase{"shared", sparse_weights({64, 100}, 100, 16, 3)},
                      WeightsCase{"shared_by_all", sparse_weights({64, 100}, 1000, 1, 4)},
                      WeightsCase{"shared_by_4096_values", sparse_weights({200, 100}, 1000, 4096, 5)},
                      WeightsCase{"bias", sparse_weights({300}, 900, 12, 6)},
                      WeightsCase{"special_numbers",
                                  Tensor::of<float>({2, 4}, {-0.0f, 0.0f, std::numeric_limits<float>::infinity(),
                                                             std::numeric_limits<float>::quiet_NaN(),
                                                             std::numeric_limits<float>::denorm_min(),
                                                             -std::numeric_limits<float>::max(), 1e-30f, 1})}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(CodedWeightsOf, ComeBackBitForBit) {
  const Tensor& weights = GetParam().weights;
  const CodedWeights coded = encode_weights(weights);
  const auto decoded = decode_weights(coded.message, weights.shape());
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_TRUE(same_bits(*decoded, weights));
}

TEST_P(CodedWeightsOf, CutOffAnywhereIsAnError) {
  const Tensor& weights = GetParam().weights;
  const std::string message = encode_weights(weights).message;
  for (std::size_t length = 0; length < message.size(); length += 1 + length / 40)
    EXPECT_EQ(decode_weights(message.substr(0, length), weights.shape()).code(), Code::data_loss) << length;
  EXPECT_EQ(decode_weights(message + "x", weights.shape()).code(), Code::data_loss);
}

TEST_P(CodedWeightsOf, ChangedAnywhereIsAnErrorOrWeightsOfThisShape) {
  const Tensor& weights = GetParam().weights;
  const std::string message = encode_weights(weights).message;
  for (std::size_t at = 0; at < message.size(); at += 1 + at / 40) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string changed = message;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto decoded = decode_weights(changed, weights.shape());
      if (decoded.ok()) {
        EXPECT_EQ(decoded->shape(), weights.shape());
      } else {
        EXPECT_EQ(decoded.code(), Code::data_loss);
      }
    }
  }
}

TEST(CodedWeights, CountsWhatIsKeptAndShared) {
  const CodedWeights coded = encode_weights(Tensor::of<float>({2, 5}, {0, 1, 1, 1, 0, 2, 2, 2, 0, 2}));
  EXPECT_EQ(coded.kept, 7);
  EXPECT_EQ(coded.values, 2);
  EXPECT_EQ(encode_weights(Tensor::of<float>({3}, {1, 2, 3})).values, 0);  // nothing is shared
}

TEST(CodedWeights, TakeFewBytesMoreThanTheEntropyOfRandomOnes) {
  constexpr double kKept = 0.05, kValues = 16;
  const Tensor weights = sparse_weights({300, 784}, 50, 16, 7);
  const double position = -kKept * std::log2(kKept) - (1 - kKept) * std::log2(1 - kKept);
  const double bits = static_cast<double>(weights.elements()) * (position + kKept * std::log2(kValues));
  const double bytes = bits / 8 + kValues * 4;
  const auto coded = static_cast<double>(encode_weights(weights).message.size());
  EXPECT_GT(coded, 0.97 * bytes);
  EXPECT_LT(coded, 1.03 * bytes);
}

TEST(CodedWeights, ColumnsThatNobodyReadsCostNothing) {
  const Tensor everywhere = sparse_weights({300, 784}, 50, 16, 8);
  Tensor half = everywhere.clone();
  for (std::size_t i = 0; i < half.as<float>().size(); ++i)
    if (i % 784 < 392) half.as<float>()[i] = 0;
  EXPECT_LT(encode_weights(half).message.size(), encode_weights(everywhere).message.size() * 53 / 100);
}

TEST(CodedWeights, AMessageTooShortForItsShapeTakesNoMemory) {
  const std::string message = encode_weights(Tensor(DType::f32, {8})).message;
  const Shape huge{std::int64_t{1} << 40, std::int64_t{1} << 20};  // no machine has so much
  EXPECT_EQ(decode_weights(message, huge).code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::compress
