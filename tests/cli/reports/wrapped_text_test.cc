#include "mangrove/cli/reports/wrapped_text.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace mangrove::cli {
namespace {

TEST(WrappedText, HasEightyColumnsBelowItsFirstLine) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "words  ";
  const std::string lines = std::string(10, ' ') + wrapped(text, 10);
  std::istringstream in(lines);
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_EQ(line.find("words"), 10u) << line;
    EXPECT_EQ(line.find("words  "), std::string::npos) << line;
  }
  EXPECT_EQ(count, 4) << "eleven words of five letters and ten blanks fit into 70 columns";
  EXPECT_EQ(wrapped("", 10), "\n");
}

TEST(FoldedText, GoesOnBelowTheLastColumn) {
  EXPECT_EQ(folded("  flip      left and right exchanged, with this probability\n", 40),
            "  flip      left and right exchanged,\n"
            "            with this probability\n");
  EXPECT_EQ(folded("            without it, only the address in its string is tried\n", 40),
            "            without it, only the address\n"
            "            in its string is tried\n");
}

TEST(FoldedText, GoesOnDeeperWithoutColumnsOrRoom) {
  EXPECT_EQ(folded("  cost 1.25 an hour, mean latency 565 ms\n", 30),
            "  cost 1.25 an hour, mean\n"
            "      latency 565 ms\n");
  EXPECT_EQ(folded("  stage     node      busy  operators of it\n", 30),
            "  stage     node      busy\n"
            "      operators of it\n");
  EXPECT_EQ(folded("  leaves    a recipe: flip,rotation:30,zoom:0.15,normalise\n", 40),
            "  leaves    a recipe:\n"
            "      flip,rotation:30,zoom:0.15,normalise\n");
}

TEST(FoldedText, LeavesShortLinesAndLongWordsAlone) {
  for (const char* text : {"", "\n", "a   b\n\n", "no line break at the end", "mangrove-join-string-without-a-blank\n",
                           "        averylongwordbehindblanks\n"})
    EXPECT_EQ(folded(text, 24), text);
  EXPECT_EQ(folded("one line break is enough here", 24), "one line break is enough\n    here");
}

TEST(FoldedText, CountsCharactersNotBytes) {
  EXPECT_EQ(folded("ééééé ééééé\n", 11), "ééééé ééééé\n");
  EXPECT_EQ(folded("ééééé ééééé\n", 10), "ééééé\n    ééééé\n");
}

}  // namespace
}  // namespace mangrove::cli
