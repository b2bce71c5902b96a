#include "mangrove/base/json_dump.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mangrove {
namespace {

TEST(JsonDump, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(dump(nlohmann::json{{"name", "a\xff"}}), "{\"name\":\"a\xef\xbf\xbd\"}");
}

TEST(JsonDump, IndentsWhereAsked) {
  EXPECT_EQ(dump(nlohmann::ordered_json{{"b", 1}, {"a", 2}}, 1), "{\n \"b\": 1,\n \"a\": 2\n}");
}

}  // namespace
}  // namespace mangrove
