#include "mangrove/data/image.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"
#include "tests/data/sample_images.h"

#include "mangrove/base/random.h"

namespace mangrove::data {
namespace {

using namespace testing;

std::span<const std::uint8_t> bytes_of(const std::string& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

/// The image that the samples were written from.
Image pattern() {
  Image image{11, 9, 3, {}};
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 11; ++x)
      for (const int value : {x * 20, y * 25, x * y * 3 % 256})
        image.pixels.push_back(static_cast<std::uint8_t>(value));
  return image;
}

std::array<int, 3> pixel(const Image& image, int x, int y) {
  std::array<int, 3> colours{};
  for (int c = 0; c < 3; ++c)
    colours[static_cast<std::size_t>(c)] =
        image.pixels[static_cast<std::size_t>((y * image.width + x) * image.channels + (image.channels == 3 ? c : 0))];
  return colours;
}

std::array<int, 3> channel_sums(const Image& image) {
  std::array<int, 3> sums{};
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    sums[i % static_cast<std::size_t>(image.channels)] += image.pixels[i];
  return sums;
}

/// What Pillow decodes from the samples: print(numpy.asarray(PIL.Image.open(f).convert(..))) at three pixels, and sums.
struct Decoded {
  const char* name;
  const std::string& file;
  int channels;
  std::array<int, 3> middle;  // pixel (5, 4)
  std::array<int, 3> sums;
};

TEST(DecodeImage, GivesThePixelsThatPillowDoes) {
  const Decoded cases[] = {
      {"colour JPEG", kColourJpeg, 3, {100, 101, 59}, {9860, 9934, 5938}},
      {"grey JPEG", kGreyJpeg, 1, {96, 96, 96}, {9453, 0, 0}},
      {"progressive JPEG", kProgressiveJpeg, 3, {98, 101, 58}, {9914, 9849, 5947}},
      {"palette PNG", kPalettePng, 3, {40, 150, 36}, {9680, 9810, 5647}},
  };
  for (const Decoded& expected : cases) {
    const auto image = decode_image(bytes_of(expected.file));
    ASSERT_TRUE(image.ok()) << expected.name << ": " << image.error().message;
    EXPECT_EQ(image->width, 11) << expected.name;
    EXPECT_EQ(image->height, 9) << expected.name;
    EXPECT_EQ(image->channels, expected.channels) << expected.name;
    EXPECT_EQ(pixel(*image, 5, 4), expected.middle) << expected.name;
    EXPECT_EQ(channel_sums(*image), expected.sums) << expected.name;
  }
}

TEST(DecodeImage, LeavesAlphaOutAndScalesSixteenBits) {
  EXPECT_EQ(*decode_image(bytes_of(kAlphaPng)), pattern());
  const auto deep = decode_image(bytes_of(kDeepPng));
  ASSERT_TRUE(deep.ok());
  EXPECT_EQ(deep->channels, 1);
  EXPECT_EQ(pixel(*deep, 10, 8)[0], (10 * 8 * 700 + 128) / 257);
}

TEST(DecodeImage, ReadsPpmAndPgmWithComments) {
  const auto colour = decode_image(bytes_of("P6\n# a comment\n2 1\n255\n" + std::string("\1\2\3\4\5\6", 6)));
  ASSERT_TRUE(colour.ok()) << colour.error().message;
  EXPECT_EQ(*colour, (Image{2, 1, 3, {1, 2, 3, 4, 5, 6}}));
  EXPECT_EQ(*decode_image(bytes_of("P5 1 2 15 " + std::string("\0\17", 2))), (Image{1, 2, 1, {0, 255}}));
}

TEST(DecodeImage, EncodedPngIsTheSameImage) {
  const Image grey{3, 2, 1, {0, 50, 100, 150, 200, 255}};
  for (const Image& image : {grey, pattern()}) EXPECT_EQ(*decode_image(bytes_of(encode_png(image))), image);
}

TEST(DecodeImage, RefusesWhatItCannotDecode) {
  struct Case {
    std::string file;
    Code code;
    std::string message;
  };
  const std::string png_header = kAlphaPng.substr(0, 16);
  const Case cases[] = {
      {"", Code::data_loss, "an empty file: expected an image"},
      {"GIF89a", Code::data_loss, "not a JPEG, PNG, PPM or PGM image"},
      {kCmykJpeg, Code::unimplemented, "CMYK"},
      {"P3 1 1 255 1 2 3", Code::unimplemented, "plain-text"},
      {"P6 1 1 65535 123456", Code::unimplemented, "16 bits"},
      {"P6 100000 1 255 ", Code::data_loss, "100000 x 1 pixels"},
      {"P6 30000 30000 255 ", Code::data_loss, "30000 x 30000 pixels"},
      {"P6 -1 1 255 ", Code::data_loss, "-1 x 1 pixels"},
      {"P6 4 4 255 abc", Code::data_loss, "truncated: 3 bytes of pixels found, 48 expected"},
      {"P6 4", Code::data_loss, "expected width, height"},
      {png_header + std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8) + kAlphaPng.substr(24), Code::data_loss, "PNG"},
  };
  for (const Case& test : cases) {
    const auto image = decode_image(bytes_of(test.file));
    ASSERT_FALSE(image.ok()) << test.message;
    EXPECT_EQ(image.code(), test.code) << test.message;
    EXPECT_NE(image.error().message.find(test.message), std::string::npos) << image.error().message;
  }
}

TEST(DecodeImage, EveryTruncationIsAnError) {
  for (const std::string* file : {&kColourJpeg, &kProgressiveJpeg, &kPalettePng, &kAlphaPng})
    for (std::size_t length = 0; length + 2 < file->size(); ++length)
      EXPECT_FALSE(decode_image(bytes_of(file->substr(0, length))).ok()) << length << " of " << file->size();
}

TEST(DecodeImage, SurvivesBytesThatAreWrong) {
  Random random(3);
  for (const std::string* sample : {&kColourJpeg, &kProgressiveJpeg, &kPalettePng, &kDeepPng})
    for (int round = 0; round < 500; ++round) {
      std::string file = *sample;
      for (int i = 0; i < 3; ++i) file[random.below(file.size())] = static_cast<char>(random.below(256));
      const auto image = decode_image(bytes_of(file));
      if (!image.ok()) continue;
      EXPECT_EQ(image->pixels.size(), static_cast<std::size_t>(image->width * image->height * image->channels));
    }
}

TEST(LoadImage, NamesTheFile) {
  const mangrove::testing::TemporaryFolder folder;
  write(folder / "leaf.png", kAlphaPng.substr(0, 60));
  const auto image = load_image(folder / "leaf.png");
  EXPECT_EQ(image.code(), Code::data_loss);
  EXPECT_TRUE(image.error().message.starts_with((folder / "leaf.png").string())) << image.error().message;
  EXPECT_EQ(load_image(folder / "none.png").code(), Code::not_found);
}

/// d = numpy.asarray(image.resize((w, h), PIL.Image.BILINEAR)).astype(int); d[h // 2, w // 2], d.sum((0, 1)),
/// (d.reshape(-1) * (numpy.arange(d.size) % 251 + 1)).sum()
TEST(Resize, IsBitEqualToPillow) {
  struct Case {
    int width, height;
    std::array<int, 3> middle, sums;
    std::int64_t weighted;
  };
  const Case cases[] = {
      {4, 3, {127, 100, 76}, {1200, 1200, 719}, 71505},
      {11, 9, {100, 100, 60}, {9900, 9900, 5940}, 3080700},
      {20, 5, {106, 100, 63}, {10010, 10000, 6000}, 3135015},
      {3, 17, {100, 100, 60}, {5100, 5100, 3060}, 1259268},
      {1, 1, {100, 100, 60}, {100, 100, 60}, 480},
      {5, 9, {100, 100, 60}, {4500, 4500, 2702}, 992334},
  };
  for (const Case& expected : cases) {
    const Image image = resize(pattern(), expected.width, expected.height);
    const auto name = std::to_string(expected.width) + " x " + std::to_string(expected.height);
    ASSERT_EQ(image.pixels.size(), static_cast<std::size_t>(expected.width * expected.height * 3)) << name;
    EXPECT_EQ(pixel(image, expected.width / 2, expected.height / 2), expected.middle) << name;
    EXPECT_EQ(channel_sums(image), expected.sums) << name;
    std::int64_t weighted = 0;
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      weighted += image.pixels[i] * static_cast<std::int64_t>(i % 251 + 1);
    EXPECT_EQ(weighted, expected.weighted) << name;
  }
}

TEST(ResizeAndCrop, KeepsProportionsAndTheMiddle) {
  // 6 x 2: columns 0 .. 5; the middle 2 x 2 are columns 2 and 3
  const Image wide{6, 2, 1, {0, 10, 20, 30, 40, 50, 0, 10, 20, 30, 40, 50}};
  EXPECT_EQ(resize_and_crop(wide, 2, 2), (Image{2, 2, 1, {20, 30, 20, 30}}));
  EXPECT_EQ(resize_and_crop(wide, 1, 1), (Image{1, 1, 1, {25}}));
  const Image enlarged = resize_and_crop(wide, 8, 8);
  EXPECT_EQ(enlarged.width, 8);
  EXPECT_EQ(enlarged.pixels[0], 20);
  EXPECT_EQ(enlarged.pixels[7], 30);
}

TEST(ToChannels, GreyIsPillowsAndColourRepeats) {
  const Image grey = to_channels(pattern(), 1);
  EXPECT_EQ(std::accumulate(grey.pixels.begin(), grey.pixels.end(), 0), 9446);
  EXPECT_EQ(to_channels({1, 2, 1, {7, 9}}, 3), (Image{1, 2, 3, {7, 7, 7, 9, 9, 9}}));
}

TEST(Planar, RoundTripsAndClamps) {
  const Image image = pattern();
  std::vector<float> planes(image.pixels.size());
  to_planar(image, planes);
  EXPECT_FLOAT_EQ(planes[99 + 10], 0);        // green of the first row
  EXPECT_FLOAT_EQ(planes[10], 200 / 255.0f);  // red of its last pixel
  EXPECT_EQ(from_planar(planes, 3, 9, 11), image);
  EXPECT_EQ(from_planar(std::array{-1.0f, 2.0f}, 1, 1, 2), (Image{2, 1, 1, {0, 255}}));
}

TEST(HasImageName, GoesByTheSuffix) {
  for (const char* name : {"a.jpg", "a.JPEG", "b.Png", "c.ppm", "c.pgm"}) EXPECT_TRUE(has_image_name(name)) << name;
  for (const char* name : {"a", "a.gif", "a.jpg.txt", ".jpg"}) EXPECT_FALSE(has_image_name(name)) << name;
}

}  // namespace
}  // namespace mangrove::data
