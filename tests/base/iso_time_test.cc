#include "mangrove/base/iso_time.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(IsoTime, IsOfUtcAndHasWholeSeconds) {
  EXPECT_EQ(to_iso_text(std::chrono::sys_seconds(std::chrono::seconds(0))), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_iso_text(std::chrono::sys_seconds(std::chrono::seconds(1'732'460'645))), "2024-11-24T15:04:05Z");
}

}  // namespace
}  // namespace mangrove
