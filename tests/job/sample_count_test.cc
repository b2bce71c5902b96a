#include "mangrove/job/sample_count.h"

#include <gtest/gtest.h>

#include "mangrove/base/process_memory.h"

namespace mangrove::job {
namespace {

TEST(SampleCount, IsOneThatTheirNumbersAndTheMemoryAllow) {
  EXPECT_TRUE(check_sample_count(0, 16).ok());
  EXPECT_TRUE(check_sample_count(60'000, 64).ok());
  for (const std::int64_t impossible : {std::int64_t{-1}, std::int64_t{1} << 32, std::int64_t{1} << 62})
    EXPECT_EQ(check_sample_count(impossible, 1).code(), Code::invalid_argument) << impossible;
  const Bytes limit = memory_limit();
  ASSERT_GT(limit, 0);
  EXPECT_EQ(check_sample_count(1'000, limit / 1'000).code(), Code::resource_exhausted);
  EXPECT_TRUE(check_sample_count(1'000, limit / 3'000).ok());
}

}  // namespace
}  // namespace mangrove::job
