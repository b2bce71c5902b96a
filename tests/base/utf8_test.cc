#include "mangrove/base/utf8.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(Utf8, IsWhatTheStandardAllows) {
  for (const char* good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8c\xb3", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x8c", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf",
                          "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace mangrove
