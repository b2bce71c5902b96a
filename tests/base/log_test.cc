#include "mangrove/base/log.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(Log, WritesNoControlCharactersOfOthers) {
  ::testing::internal::CaptureStderr();
  log_error("node joined", {{"node", "pi\n2026-01-01 forged line"}, {"address", "\033[2J"}});
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find(R"(node="pi\x0a2026-01-01 forged line" address=\x1b[2J)"), std::string::npos) << line;
  EXPECT_EQ(line.find('\033'), std::string::npos);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Log, CutsLongTextsOfOthersShort) {
  ::testing::internal::CaptureStderr();
  log_error("refused", {{"reason", std::string(1'000'000, 'x')}});
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(line.size(), 5'000u);
  EXPECT_NE(line.find("xxx..."), std::string::npos);
}

}  // namespace
}  // namespace mangrove
