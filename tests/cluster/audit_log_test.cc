#include "mangrove/cluster/audit_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/temporary_folder.h"

namespace mangrove::cluster {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

std::vector<json> lines_of(const fs::path& file) {
  std::vector<json> lines;
  const auto text = read_file(file);
  std::istringstream all(text.ok() ? *text : "");
  for (std::string line; std::getline(all, line);) lines.push_back(json::parse(line, nullptr, false));
  return lines;
}

TEST(AuditLog, HasALineForEachThing) {
  const TemporaryFolder folder;
  AuditLog log(folder / "audit.jsonl");
  log.write({"mangrove://client/anna", "ipv4:10.0.0.7:51234", "run_job", "job-1"});
  log.write({"", "ipv4:10.0.0.8:1", "join", "\033[2J\n\xff", "permission_denied: used already"});
  const std::vector<json> lines = lines_of(folder / "audit.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["who"], "mangrove://client/anna");
  EXPECT_EQ(lines[0]["from"], "ipv4:10.0.0.7:51234");
  EXPECT_EQ(lines[0]["what"], "run_job");
  EXPECT_EQ(lines[0]["about"], "job-1");
  EXPECT_EQ(lines[0]["outcome"], "ok");
  EXPECT_EQ(lines[0]["time"].get<std::string>().size(), std::string("2026-11-24T15:04:05Z").size());
  EXPECT_EQ(lines[1]["outcome"], "permission_denied: used already");
  EXPECT_EQ(read_file(folder / "audit.jsonl")->find('\033'), std::string::npos);
  EXPECT_EQ(fs::status(folder / "audit.jsonl").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AuditLog, BeginsAnewWhenItIsLong) {
  const TemporaryFolder folder;
  AuditLog log(folder / "audit.jsonl", 1000);
  for (int i = 0; i < 50; ++i) log.write({"mangrove://client/anna", "", "run_job", std::to_string(i)});
  const std::vector<json> now = lines_of(folder / "audit.jsonl"), before = lines_of(folder / "audit.jsonl.1");
  ASSERT_FALSE(now.empty() || before.empty());
  EXPECT_EQ(now.back()["about"], "49");
  EXPECT_EQ(std::stoi(before.back()["about"].get<std::string>()) + 1,
            std::stoi(now.front()["about"].get<std::string>()));
  EXPECT_LE(fs::file_size(folder / "audit.jsonl"), 1000U);
  EXPECT_LE(fs::file_size(folder / "audit.jsonl.1"), 1000U);
}

TEST(AuditLog, FollowsNoLink) {
  const TemporaryFolder folder;
  fs::create_symlink(folder / "elsewhere", folder / "audit.jsonl");
  AuditLog(folder / "audit.jsonl").write({"", "", "join", ""});
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

}  // namespace
}  // namespace mangrove::cluster
