#include "mangrove/serve/protocol/trace_context.h"

#include <gtest/gtest.h>

namespace mangrove::serve {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736", kParent = "00f067aa0ba902b7";
const std::string kTraceParent = "00-" + kTrace + "-" + kParent + "-01";

TEST(TraceContext, TakesTheExampleOfTheSpecification) {
  const auto trace = parse_traceparent(kTraceParent);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->trace_id, kTrace);
  EXPECT_EQ(trace->parent_id, kParent);
  EXPECT_TRUE(parse_traceparent(" \t" + kTraceParent + " ")) << "blanks around a header are none of its value";
  EXPECT_TRUE(parse_traceparent("00-" + kTrace + "-" + kParent + "-ff")) << "flags that are not known do not matter";
}

TEST(TraceContext, AVersionOfTheFutureMayHaveMore) {
  EXPECT_EQ(parse_traceparent("cc-" + kTrace + "-" + kParent + "-01")->trace_id, kTrace);
  EXPECT_EQ(parse_traceparent("cc-" + kTrace + "-" + kParent + "-01-what-comes")->trace_id, kTrace);
  EXPECT_FALSE(parse_traceparent("cc-" + kTrace + "-" + kParent + "-01.what-comes"));
  EXPECT_FALSE(parse_traceparent("cc-" + kTrace + "-" + kParent + "-01a"));
  EXPECT_FALSE(parse_traceparent("00-" + kTrace + "-" + kParent + "-01-what-comes"));
  EXPECT_FALSE(parse_traceparent("ff-" + kTrace + "-" + kParent + "-01"));
}

TEST(TraceContext, WhatIsMalformedIsNone) {
  const std::string zeros(32, '0');
  for (const std::string& wrong :
       {std::string(), std::string("00"), kTraceParent.substr(1), kTraceParent.substr(0, 54), kTraceParent + "1",
        "00-" + zeros + "-" + kParent + "-01", "00-" + kTrace + "-" + zeros.substr(16) + "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + kParent + "-01", "00_" + kTrace + "-" + kParent + "-01",
        "00-" + kTrace + "." + kParent + "-01", "00-" + kTrace + "-" + kParent + "_01",
        "0g-" + kTrace + "-" + kParent + "-01", "00-" + kTrace + "-" + kParent + "-0x",
        kTraceParent + "," + kTraceParent, "00-" + std::string(32, '.') + "-" + kParent + "-01",
        "00-" + kTrace + "-" + std::string(16, ' ') + "-01"})
    EXPECT_FALSE(parse_traceparent(wrong)) << wrong;
}

TEST(TraceContext, WithoutATraceANewOneBegins) {
  EXPECT_EQ(trace_of(kTraceParent).trace_id, kTrace);
  const TraceContext one = trace_of("malformed"), other = trace_of("");
  for (const TraceContext& fresh : {one, other}) {
    EXPECT_EQ(fresh.parent_id, "");
    EXPECT_TRUE(parse_traceparent("00-" + fresh.trace_id + "-" + kParent + "-00")) << fresh.trace_id;
  }
  EXPECT_NE(one.trace_id, other.trace_id);
}

}  // namespace
}  // namespace mangrove::serve
