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

const identity::WallTime kAuditLogNow = identity::WallTime(std::chrono::days(20'000));

TEST(AuditLog, StrangersDoNotPushOutWhatMembersDid) {
  const TemporaryFolder folder;
  {
    AuditLog log(folder / "audit.jsonl", 20'000);
    log.write({"mangrove://client/anna", "ipv4:10.0.0.7:1", "run_job", "job-1"}, kAuditLogNow);
    for (int i = 0; i < 10'000; ++i)
      log.write({"", "ipv4:10.0.0.8:" + std::to_string(i), "join", std::string(100'000, 'x'), "permission_denied: no"},
                kAuditLogNow);
    log.write({"mangrove://client/anna", "ipv4:10.0.0.7:1", "stop_job", "job-1"},
              kAuditLogNow + std::chrono::seconds(61));
    for (int i = 0; i < 1'000; ++i)
      log.write({"", "ipv4:10.0." + std::to_string(i % 250) + ".9:1", "join", "", "permission_denied: no"},
                kAuditLogNow + std::chrono::seconds(62));
    EXPECT_EQ(lines_of(folder / "audit.jsonl").size(), 1U + 2U + 1U + 1U + 2U * 32U);
  }
  const std::vector<json> lines = lines_of(folder / "audit.jsonl");
  ASSERT_GE(lines.size(), 5U);
  EXPECT_EQ(lines[0]["what"], "run_job");
  EXPECT_EQ(lines[1]["about"].get<std::string>().size(), 256U);
  EXPECT_EQ(lines[3]["from"], "ipv4:10.0.0.8");
  EXPECT_TRUE(lines[3]["about"].get<std::string>().starts_with("9998 more lines")) << lines[3];
  EXPECT_EQ(lines[4]["what"], "stop_job");
  EXPECT_NE(lines.back()["about"].get<std::string>().find(" more lines"), std::string::npos) << "the rest, at the end";
}

TEST(AuditLog, AMemberDoesNotPushOutWhatOthersDid) {
  const TemporaryFolder folder;
  AuditLog log(folder / "audit.jsonl", 50'000);
  log.write({"mangrove://client/anna", "", "run_job", "job-1"}, kAuditLogNow);
  for (int i = 0; i < 10'000; ++i)
    log.write({"mangrove://client/bob", "", "follow_job", "no", "not_found: no"}, kAuditLogNow);
  EXPECT_EQ(lines_of(folder / "audit.jsonl").size(), 61U);
}

TEST(AuditLog, WhoWasLetInOrThrownOutStandsByItself) {
  const TemporaryFolder folder;
  AuditLog log(folder / "audit.jsonl", 1000);
  AuditLog::Entry joined{"", "ipv4:10.0.0.8:1", "join", "mangrove://node/pi"};
  joined.changes_members = true;
  log.write(joined);
  for (int i = 0; i < 50; ++i) log.write({"mangrove://client/bob", "", "follow_job", "no", "not_found: no"});
  const std::vector<json> members = lines_of(folder / "members.jsonl");
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0]["about"], "mangrove://node/pi");
}

TEST(AuditLog, ATornLineSpoilsNoOther) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_private_file(folder / "audit.jsonl", R"({"time":"2026-11-2)").ok());
  AuditLog(folder / "audit.jsonl").write({"", "", "join", "whole"});
  const std::vector<json> lines = lines_of(folder / "audit.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].is_discarded());
  EXPECT_EQ(lines[1]["about"], "whole");
}

TEST(AuditLog, FollowsNoLink) {
  const TemporaryFolder folder;
  fs::create_symlink(folder / "elsewhere", folder / "audit.jsonl");
  AuditLog(folder / "audit.jsonl").write({"", "", "join", ""});
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

}  // namespace
}  // namespace mangrove::cluster
