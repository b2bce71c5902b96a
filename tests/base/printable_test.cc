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

TEST(CutShort, LeavesWhatFits) {
  EXPECT_EQ(cut_short("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_short(std::string(kLongestText, 'x')), std::string(kLongestText, 'x'));
}

TEST(CutShort, EndsWithDotsWithinTheLimit) {
  EXPECT_EQ(cut_short("abcdefg", 6), "abc...");
  const std::string cut = cut_short(std::string(1'000'000, 'x'));
  EXPECT_EQ(cut.size(), kLongestText);
  EXPECT_TRUE(cut.ends_with("x..."));
}

TEST(CutShort, DoesNotCutACharacterInTwo) {
  EXPECT_EQ(cut_short("a\u20ac\u20ac\u20ac", 8), "a\u20ac...");
  EXPECT_EQ(cut_short("a\u20ac\u20ac\u20ac", 9), "a\u20ac...");
  EXPECT_EQ(cut_short(std::string(20, '\x80'), 10), std::string(7, '\x80') + "...") << "no UTF-8";
}

}  // namespace
}  // namespace mangrove
