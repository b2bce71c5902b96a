#include "mangrove/tensor/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

using namespace std::string_literals;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string length(1, static_cast<char>(header.size() & 0xff));
  length += static_cast<char>(header.size() >> 8);
  if (version > 1) length += "\0\0"s;
  return "\x93NUMPY" + std::string(1, version) + "\0"s + length + header + data;
}

template <class T>
Tensor counting(Shape shape) {
  Tensor tensor(dtype_of<T>, std::move(shape));
  int next = 0;
  for (T& element : tensor.as<T>()) element = static_cast<T>(next++ % 2 == 0 ? next : -next);
  return tensor;
}

void expect_round_trip(const Tensor& tensor) {
  const auto parsed = parse_npy(encode_npy(tensor));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->dtype(), tensor.dtype());
  EXPECT_EQ(parsed->shape(), tensor.shape());
  EXPECT_EQ(std::memcmp(parsed->data(), tensor.data(), static_cast<std::size_t>(tensor.bytes())), 0);
}

TEST(Npy, EveryTypeAndRankSurvives) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3}, Shape{1, 3, 4, 5}, Shape{2, 0, 3}}) {
    expect_round_trip(counting<float>(shape));
    expect_round_trip(counting<double>(shape));
    expect_round_trip(counting<std::int32_t>(shape));
    expect_round_trip(counting<std::int64_t>(shape));
    expect_round_trip(counting<std::uint8_t>(shape));
    expect_round_trip(counting<std::int8_t>(shape));
    expect_round_trip(Tensor(DType::boolean, shape));
  }
}

TEST(Npy, DataStartsAtAMultipleOf64Bytes) {
  for (const Shape& shape : {Shape{1}, Shape{10}, Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}})
    EXPECT_EQ(encode_npy(Tensor(DType::u8, shape)).size() % 64, static_cast<std::size_t>(shape.elements()))
        << to_string(shape);
}

// numpy.save(file, numpy.array([[1, 2], [3, 4.5]], 'f4')), NumPy 1.24
TEST(Npy, ReadsWhatNumPyWrites) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" + std::string(58, ' ') + "\n";
  const auto array = parse_npy(npy(header, "\0\0\x80?\0\0\0@\0\0@@\0\0\x90@"s));
  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_EQ(array->shape(), (Shape{2, 2}));
  EXPECT_EQ(std::vector<float>(array->as<float>().begin(), array->as<float>().end()),
            (std::vector<float>{1, 2, 3, 4.5f}));
}

TEST(Npy, ReadsOtherWaysToWriteAHeader) {
  for (const char* header : {"{'shape':(2,),'fortran_order':False,'descr':'|u1'}",
                             "{\"descr\": \"|u1\", \"fortran_order\": True, \"shape\": (2,)}  \n",
                             "{ 'descr' : '=u1' , 'fortran_order' : False , 'shape' : ( 2 , ) , }"}) {
    for (const char version : {'\1', '\2', '\3'}) {
      const auto array = parse_npy(npy(header, "ab", version));
      ASSERT_TRUE(array.ok()) << header << ": " << array.error().message;
      EXPECT_EQ(array->as<std::uint8_t>()[1], 'b');
    }
  }
}

TEST(Npy, BoolsAreZeroOrOne) {
  const auto array = parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\xff"s));
  ASSERT_TRUE(array.ok());
  const auto* bytes = reinterpret_cast<const unsigned char*>(array->data());
  EXPECT_EQ(std::vector<int>(bytes, bytes + 3), (std::vector<int>{0, 1, 1}));
}

struct Broken {
  const char* name;
  std::string bytes;
  Code code;
};

class BrokenNpy : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenNpy, IsAnError) {
  const auto array = parse_npy(GetParam().bytes);
  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.code(), GetParam().code) << array.error().message;
}

std::string with_shape(const std::string& shape, const std::string& data = "abcd") {
  return npy("{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + "}", data);
}

INSTANTIATE_TEST_SUITE_P(
    Npy, BrokenNpy,
    ::testing::Values(
        Broken{"empty", "", Code::data_loss}, Broken{"magic", "NUMPY", Code::data_loss},
        Broken{"version", npy("{}", "", 9), Code::data_loss},
        Broken{"long_header", "\x93NUMPY\x02\0\xff\xff\xff\xff{}"s, Code::data_loss},
        Broken{"no_keys", npy("{}", ""), Code::data_loss},
        Broken{"no_brace", npy("{'shape': (1,)", "a"), Code::data_loss},
        Broken{"unknown_key", npy("{'descr': '|u1', 'fortran_order': False, 'shap': (1,)}", "a"), Code::data_loss},
        Broken{"text_behind", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x", "a"), Code::data_loss},
        Broken{"negative", with_shape("(-4,)"), Code::data_loss}, Broken{"no_tuple", with_shape("4"), Code::data_loss},
        Broken{"too_few", with_shape("(5,)"), Code::data_loss}, Broken{"too_many", with_shape("(3,)"), Code::data_loss},
        Broken{"overflow", with_shape("(4294967296, 4294967296, 4)"), Code::data_loss},
        Broken{"beyond_64_bits", with_shape("(99999999999999999999,)"), Code::data_loss},
        Broken{"zero_and_huge", with_shape("(9223372036854775807, 9223372036854775807, 0)", ""), Code::data_loss},
        Broken{"big_endian", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd"),
               Code::unimplemented},
        Broken{"objects", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "a"), Code::unimplemented},
        Broken{"fortran", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}", "abcd"),
               Code::unimplemented}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Npy, TruncatedAndDamagedFilesAreErrorsOrArraysThatFit) {
  const std::string whole = encode_npy(counting<float>(Shape{3, 5}));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_npy(whole.substr(0, size)).ok()) << size;
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = whole;
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const auto parsed = parse_npy(damaged);
    EXPECT_LE(parsed.ok() ? parsed->bytes() : 0, static_cast<Bytes>(damaged.size()));
  }
}

}  // namespace
}  // namespace mangrove
