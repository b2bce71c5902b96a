#include "mangrove/infer/pipeline/trust_key.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mangrove::infer {
namespace {

TEST(TrustKey, IsAShareOrNone) {
  EXPECT_EQ(*parse_trust("none"), std::nullopt);
  EXPECT_EQ(*parse_trust(""), std::nullopt);
  EXPECT_EQ(*parse_trust("spot_checks=0.02"), 0.02);
  for (const char* text : {"spot_checks", "spot_checks=", "spot_checks=2", "spot_checks=0", "spot_checks=nan",
                           "spot_checks=0.02,", "checks=0.1"})
    EXPECT_EQ(
        parse_trust(text).error().message,
        "trust: must be none, or like spot_checks=0.02, a share from 0.0001 to 1, got '" + std::string(text) + "'");
}

}  // namespace
}  // namespace mangrove::infer
