#include "mangrove/sensors/payload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mangrove::sensors {
namespace {

using nlohmann::json;

std::vector<float> numbers(std::string_view bytes, const PayloadOptions& options = {}) {
  const auto reading = decode_payload(bytes, options);
  EXPECT_TRUE(reading.ok()) << reading.error().message;
  return reading.ok() ? reading->values : std::vector<float>();
}

std::string refusal(std::string_view bytes, const PayloadOptions& options = {}) {
  const auto reading = decode_payload(bytes, options);
  return reading.ok() ? "" : reading.error().message;
}

std::string cbor(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_cbor(value);
  return {bytes.begin(), bytes.end()};
}

TEST(Payload, JsonIsANumberAListOrAnObject) {
  EXPECT_EQ(numbers("21.5"), std::vector<float>{21.5F});
  EXPECT_EQ(numbers("[1, [2, 3]]"), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(numbers(R"({"values": {"temperature": -3}})", {.value = "/values/temperature"}), std::vector<float>{-3});
  EXPECT_EQ(numbers(R"({"a/b": [4]})", {.value = "/a~1b/0"}), std::vector<float>{4});
}

TEST(Payload, NumbersAreScaledAndMoved) {
  EXPECT_EQ(numbers("[0, 255]", {.scale = 2, .offset = -1}), (std::vector<float>{-1, 509}));
  EXPECT_EQ(numbers(std::string("\x00\xff", 2), {.format = "u8", .scale = 0.5}), (std::vector<float>{0, 127.5F}));
}

TEST(Payload, CborIsReadAsJsonIs) {
  const PayloadOptions options{.format = "cbor", .value = "/t", .time = "/at", .id = "/n", .seconds_per_tick = 0.001};
  const auto reading = decode_payload(cbor({{"t", {1, 2.5}}, {"at", 1'700'000'000'500}, {"n", "x-1"}}), options);
  ASSERT_TRUE(reading.ok()) << reading.error().message;
  EXPECT_EQ(reading->values, (std::vector<float>{1, 2.5F}));
  EXPECT_DOUBLE_EQ(reading->time.value(), 1'700'000'000.5);
  EXPECT_EQ(reading->id.value(), "x-1");
}

TEST(Payload, FloatsAreLittleEndian) {
  const std::vector<float> values = {1.5F, -2.25F, 1e-30F};
  EXPECT_EQ(numbers(little_endian(values), {.format = "f32"}), values);
  EXPECT_EQ(numbers(std::string("\x00\x00\x80\x3f", 4), {.format = "f32"}), std::vector<float>{1});
  EXPECT_EQ(refusal("12345", {.format = "f32"}), "it has 5 bytes: expected 4 for each number");
}

TEST(Payload, WhatIsNoNumberIsRefused) {
  EXPECT_EQ(refusal("\"21\""), "expected a number or a list of numbers, found string");
  EXPECT_EQ(refusal("{}", {.value = "/t"}), "it has nothing at '/t'");
  EXPECT_EQ(refusal("[]"), "it has no numbers");
  EXPECT_EQ(refusal("[1, null]"), "expected a number or a list of numbers, found null");
  EXPECT_EQ(refusal("[1, 2"), "it is not JSON");
  EXPECT_EQ(refusal(""), "it is not JSON");
  EXPECT_EQ(refusal("1 2"), "it is not JSON");
  EXPECT_EQ(refusal("1e39"), "a number is not finite");
  EXPECT_FALSE(refusal("1e999").empty());
  EXPECT_EQ(refusal(cbor(std::nan("")), {.format = "cbor"}), "a number is not finite");
  const std::vector<float> infinite = {std::numeric_limits<float>::infinity()};
  EXPECT_EQ(refusal(little_endian(infinite), {.format = "f32"}), "a number is not finite");
}

TEST(Payload, DeepNestingTakesNoStack) {
  const std::string message = "lists and objects lie deeper in one another than 32 levels";
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), message);
  EXPECT_EQ(refusal(std::string(1'000'000, '\x81'), {.format = "cbor"}), message);
  EXPECT_EQ(numbers(std::string(32, '[') + "1" + std::string(32, ']')), std::vector<float>{1});
}

TEST(Payload, AListThatClaimsMoreElementsThanThereAreIsRefused) {
  const std::string huge = std::string("\x9b\xff\xff\xff\xff\xff\xff\xff\xf0", 9);
  EXPECT_EQ(refusal(huge, {.format = "cbor"}), "it is not CBOR");
  EXPECT_EQ(refusal(std::string("\x9a\x7f\xff\xff\xff\x01", 6), {.format = "cbor"}), "it is not CBOR");
}

TEST(Payload, TimesAndIdsOfSendersAreChecked) {
  EXPECT_FALSE(refusal(R"({"v":1,"t":-1})", {.value = "/v", .time = "/t"}).empty());
  EXPECT_FALSE(refusal(R"({"v":1,"t":1e300})", {.value = "/v", .time = "/t"}).empty());
  EXPECT_FALSE(refusal(R"({"v":1,"t":"now"})", {.value = "/v", .time = "/t"}).empty());
  EXPECT_FALSE(refusal(R"({"v":1,"i":""})", {.value = "/v", .id = "/i"}).empty());
  EXPECT_FALSE(refusal(R"({"v":1,"i":"\u001b[2J"})", {.value = "/v", .id = "/i"}).empty());
  EXPECT_FALSE(refusal(R"({"v":1,"i":")" + std::string(201, 'x') + "\"}", {.value = "/v", .id = "/i"}).empty());
  EXPECT_EQ(decode_payload(R"({"v":1,"i":17})", {.value = "/v", .id = "/i"})->id.value(), "17");
}

TEST(Payload, OptionsThatLeadNowhereAreRefused) {
  EXPECT_TRUE(check_payload_options({.format = "json", .value = "/a/b", .id = "{topic[1]}"}).ok());
  EXPECT_FALSE(check_payload_options({.format = "jsn"}).ok());
  EXPECT_FALSE(check_payload_options({.format = "f32", .value = "/a"}).ok());
  EXPECT_FALSE(check_payload_options({.format = "json", .value = "a.b"}).ok());
  EXPECT_FALSE(check_payload_options({.format = "u8", .id = "/a"}).ok());
}

}  // namespace
}  // namespace mangrove::sensors
