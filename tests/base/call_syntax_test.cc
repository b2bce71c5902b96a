#include "mangrove/base/call_syntax.h"

#include <gtest/gtest.h>

namespace mangrove {
namespace {

using Views = std::vector<std::string_view>;

TEST(CallSyntax, ACallHasANameAndArguments) {
  EXPECT_EQ(parse_call("median").name, "median");
  EXPECT_EQ(parse_call("median").arguments, Views());
  EXPECT_EQ(parse_call("krum(2)").name, "krum");
  EXPECT_EQ(parse_call("krum(2)").arguments, Views({"2"}));
  EXPECT_EQ(parse_call("multi_krum(2, 3)").arguments, Views({"2", "3"}));
  EXPECT_EQ(parse_call("krum()").arguments, Views({""}));
  EXPECT_EQ(parse_call("krum(2").name, "krum(2");
}

TEST(CallSyntax, ArgumentsThatAreLeftOutHaveTheirFallback) {
  const CallParameter parameters[] = {{.name = "f", .fallback = 1, .least = 1, .most = 9, .is_whole = true},
                                      {.name = "m", .fallback = 0.5, .least = 0, .most = 1}};
  const auto numbers = [&](std::string_view text) { return numbers_of(parse_call(text), parameters, "rule 'krum'"); };
  EXPECT_EQ(numbers("krum").value(), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(numbers("krum(3)").value(), (std::vector<double>{3, 0.5}));
  EXPECT_EQ(numbers("krum(3, 0.25)").value(), (std::vector<double>{3, 0.25}));
  EXPECT_EQ(numbers("krum(0)").error().message, "rule 'krum': f must be a whole number from 1 to 9, got '0'");
  EXPECT_EQ(numbers("krum(1.5)").error().message, "rule 'krum': f must be a whole number from 1 to 9, got '1.5'");
  EXPECT_EQ(numbers("krum(1, nan)").error().message, "rule 'krum': m must be a number from 0 to 1, got 'nan'");
  EXPECT_EQ(numbers("krum(1, 1, 1)").error().message, "rule 'krum' has 2 parameters, got 3");
}

}  // namespace
}  // namespace mangrove
