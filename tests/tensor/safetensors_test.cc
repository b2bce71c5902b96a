#include "mangrove/tensor/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

TensorFile sample() {
  TensorFile file;
  file.tensors.emplace("weights", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6.5f}));
  file.tensors.emplace("empty", Tensor(DType::f64, Shape{0, 4}));
  file.tensors.emplace("scalar", Tensor::of<std::int64_t>(Shape{}, {-7}));
  file.tensors.emplace("bytes", Tensor::of<std::uint8_t>({3}, {1, 2, 255}));
  file.metadata = {{"format", "test"}, {"note", "quotes \" and ünicode"}};
  return file;
}

TEST(Safetensors, RoundTripIsExact) {
  const TensorFile file = sample();
  const auto parsed = parse_safetensors(encode_safetensors(file));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->metadata, file.metadata);
  ASSERT_EQ(parsed->tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    const Tensor& other = parsed->tensors.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype());
    EXPECT_EQ(other.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(other.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes())), 0) << name;
  }
}

TEST(Safetensors, ReadsAFileWrittenByHandAsTheFormatSays) {
  const std::string header = R"({"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header;
  bytes += std::string("\x01\0\0\0\xff\xff\xff\xff", 8);
  const auto parsed = parse_safetensors(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->tensors.at("x").as<std::int32_t>()[0], 1);
  EXPECT_EQ(parsed->tensors.at("x").as<std::int32_t>()[1], -1);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string whole = encode_safetensors(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = parse_safetensors(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.code(), Code::data_loss) << size;
  }
}

TEST(Safetensors, RandomDamageNeverCrashes) {
  const std::string whole = encode_safetensors(sample());
  Random random(99);
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int flips = 0; flips < 3; ++flips) damaged[random.below(damaged.size())] = static_cast<char>(random.next());
    errors += parse_safetensors(damaged).ok() ? 0 : 1;
  }
  EXPECT_GT(errors, 1000);  // damage in the data itself cannot be seen, in the header it must be
}

TEST(Safetensors, NamesThatAreNotUtf8NeverCrash) {
  TensorFile file;
  file.tensors.emplace("layer \xff", Tensor::of<float>({1}, {2}));
  file.metadata = {{"note", "\xc3"}};
  const auto parsed = parse_safetensors(encode_safetensors(file));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->tensors.at("layer \xef\xbf\xbd").as<float>()[0], 2);
  for (const std::string name : {"\xff", "\xed\xa0\x80", "\\ud800"}) {
    const std::string header = R"({")" + name + R"(":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    bytes += header + std::string(8, 'x');
    EXPECT_EQ(parse_safetensors(bytes).code(), Code::data_loss) << name;
  }
}

struct Hostile {
  const char* name;
  const char* header;
};

class HostileHeader : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileHeader, IsAnError) {
  const std::string header = GetParam().header;
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header + std::string(8, 'x');
  EXPECT_FALSE(parse_safetensors(bytes).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Safetensors, HostileHeader,
    ::testing::Values(
        Hostile{"array", "[]"},
        Hostile{"huge_shape", R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})"},
        Hostile{"negative_shape", R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"},
        Hostile{"zero_times_huge", R"({"x":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,8]}})"},
        Hostile{"backwards", R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"},
        Hostile{"outside", R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})"},
        Hostile{"unknown_type", R"({"x":{"dtype":"F8","shape":[8],"data_offsets":[0,8]}})"},
        Hostile{
            "overlap",
            R"({"x":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"y":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})"},
        Hostile{"hole", R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace mangrove
