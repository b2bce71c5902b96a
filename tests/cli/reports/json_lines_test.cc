#include "mangrove/cli/reports/json_lines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

struct JsonLines : ::testing::Test {
  TemporaryFolder folder;
  fs::path path = folder / "lines.jsonl";
  std::vector<json> read;

  Status read_text(const std::string& text) {
    std::ofstream(path) << text;
    read.clear();
    return read_json_lines(path, [&](const json& line) { read.push_back(line); });
  }
};

TEST_F(JsonLines, AreGivenInTheirOrder) {
  ASSERT_TRUE(read_text("{\"n\":1}\n{\"n\":2}\n{\"n\":3}").ok());
  ASSERT_EQ(read.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read[static_cast<std::size_t>(i)]["n"], i + 1);
  EXPECT_TRUE(read_text("").ok());
  EXPECT_TRUE(read.empty());
}

TEST_F(JsonLines, ThatAreNoneAreLeftOut) {
  ASSERT_TRUE(read_text("{\"n\":1}\n[3]\n\nnothing\n{\"n\":2}\n{\"n\":").ok());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1]["n"], 2);
  const Status none = read_text("[1]\n{\n");
  EXPECT_EQ(none.code(), Code::data_loss);
  EXPECT_NE(none.error().message.find("lines.jsonl:1: no line is a JSON object"), std::string::npos);
}

TEST_F(JsonLines, OfAnyLengthTakeBoundedMemory) {
  const std::string long_line = "{\"text\":\"" + std::string(5 << 20, 'x') + "\"}\n";
  ASSERT_TRUE(read_text("{\"n\":1}\n" + long_line + "{\"n\":2}\n").ok());
  ASSERT_EQ(read.size(), 2u) << "one line is too long to be held";
  EXPECT_EQ(read[1]["n"], 2);
  std::string many;
  for (int i = 0; i < 30'000; ++i) many += "{\"n\":" + std::to_string(i) + "}\n";
  ASSERT_TRUE(read_text(many).ok());
  ASSERT_EQ(read.size(), 30'000u) << "across the blocks in which the file is read";
  EXPECT_EQ(read.back()["n"], 29'999);
}

TEST_F(JsonLines, ErrorsOfAnObjectNameFileAndLine) {
  std::ofstream(path) << "{\n  \"a\": 1,\n  \"b\" 2\n}\n";
  const Result<json> broken = read_json_object(path);
  EXPECT_EQ(broken.code(), Code::data_loss);
  EXPECT_NE(broken.error().message.find("lines.jsonl:3: expected a JSON object"), std::string::npos)
      << broken.error().message;
  std::ofstream(path) << "[1]";
  EXPECT_EQ(read_json_object(path).code(), Code::data_loss);
  EXPECT_EQ(read_json_object(folder / "none").code(), Code::not_found);
  std::ofstream(path) << "{\"a\": 1}";
  EXPECT_EQ(read_json_object(path).value()["a"], 1);
}

}  // namespace
}  // namespace mangrove::cli
