#include "mangrove/base/printable.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  EXPECT_EQ(printable("node-1: 25 °C, \"gewächshaus\" 温室"), "node-1: 25 °C, \"gewächshaus\" 温室");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("\033[2J\033]0;title\007"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\nb\rc\x7f"), "a\\x0ab\\x0dc\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J")
      << "the same as ESC [ to some";
  EXPECT_EQ(printable("\xc2"), "\xc2") << "the text ends in the middle of a character";
}

TEST(Printable, KeepsLinesWhereThatIsAskedFor) {
  EXPECT_EQ(printable("first\n\tsecond\r\033", true), "first\n\tsecond\\x0d\\x1b");
}

}  // namespace
}  // namespace mangrove
