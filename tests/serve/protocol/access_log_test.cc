#include "mangrove/serve/protocol/access_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/serve/protocol/access_lines.h"

namespace mangrove::serve {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

TEST(AccessLog, HasALineForEachRequest) {
  const TemporaryFolder folder;
  {
    const auto log = AccessLog::open(folder / "access.jsonl").value();
    log->write({.protocol = "grpc",
                .model = "digits",
                .version = "2",
                .id = std::string(100'000, 'x'),
                .client = "mangrove://client/anna",
                .from = "10.0.0.7:51234",
                .status = 200,
                .queued = 0.0005,
                .computed = 0.25,
                .trace = {.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736", .parent_id = "00f067aa0ba902b7"}});
    log->write({.model = "\033[2J\n\xff", .status = 404});
  }
  const std::vector<json> lines = access_lines(folder / "access.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["time"].get<std::string>().size(), std::string("2026-11-24T15:04:05.123Z").size());
  EXPECT_EQ(lines[0]["protocol"], "grpc");
  EXPECT_EQ(lines[0]["model"], "digits");
  EXPECT_EQ(lines[0]["version"], "2");
  EXPECT_EQ(lines[0]["id"].get<std::string>().size(), 256U) << "no client fills the disk with it";
  EXPECT_EQ(lines[0]["client"], "mangrove://client/anna");
  EXPECT_EQ(lines[0]["from"], "10.0.0.7:51234");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["queued_ms"], 0.5);
  EXPECT_EQ(lines[0]["computed_ms"], 250);
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(lines[0]["parent_id"], "00f067aa0ba902b7");
  EXPECT_EQ(lines[1]["status"], 404);
  EXPECT_TRUE(lines[1]["queued_ms"].is_null() && lines[1]["computed_ms"].is_null());
  EXPECT_EQ(read_file(folder / "access.jsonl")->find('\033'), std::string::npos);
}

TEST(AccessLog, BeginsAnewWhenItIsLong) {
  const TemporaryFolder folder;
  for (int i = 0; i < 20; ++i) {  // each time it is closed, so that no two lines are written at once
    const auto log = AccessLog::open(folder / "access.jsonl", 1000).value();
    log->write({.id = std::to_string(i), .status = 200});
  }
  EXPECT_LE(fs::file_size(folder / "access.jsonl"), 1000U);
  EXPECT_LE(fs::file_size(folder / "access.jsonl.1"), 1000U);
  const std::vector<json> now = access_lines(folder / "access.jsonl"), before = access_lines(folder / "access.jsonl.1");
  ASSERT_FALSE(now.empty() || before.empty());
  EXPECT_EQ(now.back()["id"], "19");
  EXPECT_EQ(std::stoi(before.back()["id"].get<std::string>()) + 1, std::stoi(now.front()["id"].get<std::string>()));
}

TEST(AccessLog, AFileThatCannotBeWrittenIsSaidAtOnce) {
  const TemporaryFolder folder;
  const auto log = AccessLog::open(folder / "no folder/access.jsonl");
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message.find("no folder/access.jsonl"), std::string::npos) << log.error().message;
}

}  // namespace
}  // namespace mangrove::serve
