#include <gtest/gtest.h>

#include <algorithm>

#include "mangrove/codec/codec.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kElements = 1000;

std::unique_ptr<Codec> make(std::string_view text) {
  return make_codec(text, {.layers = {{1, kElements}}, .seed = 1}).value();
}

TEST(Esgd, SendsAsManyAsAskedWithTheVelocityOfWhatWaited) {
  const auto codec = make("esgd(0.1,0.5)");
  const std::vector<float> ones(kElements, 1);
  std::vector<float> decoded(kElements), waited(kElements, 0), velocity(kElements, 0);
  for (int message = 0; message < 20; ++message) {
    ASSERT_TRUE(codec->decode(codec->encode(ones), decoded).ok());
    EXPECT_EQ(kElements - static_cast<std::size_t>(std::count(decoded.begin(), decoded.end(), 0.0f)), 100u);
    for (std::size_t i = 0; i < kElements; ++i) {
      velocity[i] = 0.5f * velocity[i] + 1;
      waited[i] += velocity[i];
      if (decoded[i] == 0) continue;
      ASSERT_FLOAT_EQ(decoded[i], waited[i]);
      waited[i] = velocity[i] = 0;
    }
  }
}

TEST(Esgd, PrefersPlacesThatLoweredTheLoss) {
  // the loss falls when more of the first half was sent than of the second
  const auto codec = make("esgd(0.005)");
  const std::vector<float> ones(kElements, 1);
  std::vector<float> decoded(kElements);
  double loss = 0;
  std::int64_t first_half = 0, all = 0;
  for (int message = 0; message < 20000; ++message) {
    codec->told_loss(loss);
    ASSERT_TRUE(codec->decode(codec->encode(ones), decoded).ok());
    const auto sent_in = [&](std::size_t begin, std::size_t end) {
      const auto at = [&](std::size_t place) { return decoded.begin() + static_cast<std::ptrdiff_t>(place); };
      return static_cast<std::int64_t>(end - begin) - std::count(at(begin), at(end), 0.0f);
    };
    const std::int64_t good = sent_in(0, kElements / 2), bad = sent_in(kElements / 2, kElements);
    loss -= static_cast<double>(good - bad);
    if (message < 10000) continue;
    first_half += good;
    all += good + bad;
  }
  EXPECT_GT(static_cast<double>(first_half), 0.6 * static_cast<double>(all));
  EXPECT_LT(static_cast<double>(first_half), 0.97 * static_cast<double>(all)) << "the others still have their turn";
}

}  // namespace
}  // namespace mangrove::codec
