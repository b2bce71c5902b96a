#include "mangrove/plan/profile.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/base/temporary_folder.h"

#include "mangrove/plan/layers.h"

namespace mangrove::plan {
namespace {

using mangrove::testing::TemporaryFolder;

TEST(Measurement, IsATimeThatADeviceCanHaveTaken) {
  using Limits = std::numeric_limits<double>;
  for (const Seconds seconds : {0.0, 1e-9, 999'999.0}) EXPECT_TRUE(is_measurement(seconds)) << seconds;
  for (const Seconds seconds : {-1e-9, 1e6, Limits::infinity(), Limits::quiet_NaN()})
    EXPECT_FALSE(is_measurement(seconds)) << seconds;
  EXPECT_TRUE(is_size(0) && is_size(kMostBytes));
  EXPECT_FALSE(is_size(-1) || is_size(kMostBytes + 1));
}

TEST(ProfileFile, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  Profile profile{"net", "pi-1", "portable", 8, 4, true, 35'000'000, {}, "csv:a, b", 0.002};
  profile.operators = {{"conv: 1", "Conv", 1.5e9, 4096, 0.00125, 0.0031, 640, 12'801},
                       {"/fc/Gemm", "Gemm", 2e6, 80, 1.2e-05, 0}};
  ASSERT_TRUE(write_file_atomically(folder / "p.yaml", to_yaml(profile)).ok());
  const auto read = load_profile(folder / "p.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_yaml(*read), to_yaml(profile));
  EXPECT_EQ(read->batch, 8);
  EXPECT_TRUE(read->training);
  EXPECT_EQ(read->process, 35'000'000);
  ASSERT_NE(read->find("conv: 1"), nullptr);
  EXPECT_EQ(read->find("conv: 1")->flops, 1.5e9);
  EXPECT_EQ(read->find("/fc/Gemm")->forward, 1.2e-05);
  EXPECT_EQ(read->find("fc"), nullptr);
  EXPECT_EQ(read->find("conv: 1")->weights, 640);
  EXPECT_EQ(read->find("conv: 1")->memory, 12'801);
  EXPECT_EQ(read->data, "csv:a, b");
  EXPECT_EQ(read->read, 0.002);
}

TEST(ProfileFile, WithoutMemoryIsReadToo) {
  const TemporaryFolder folder;
  const char* const old = "profile:\n  batch: 8\n  process: 41000000\noperator a:\n  kind: Conv\n  forward: 1ms\n";
  ASSERT_TRUE(write_file_atomically(folder / "p.yaml", old).ok());
  const auto read = load_profile(folder / "p.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->operators.front().memory, 0);
  EXPECT_EQ(read->operators.front().forward, 1e-3);
}

struct BadProfileCase {
  const char* name;
  const char* text;
  const char* says;
};

class BadProfile : public ::testing::TestWithParam<BadProfileCase> {};

TEST_P(BadProfile, IsRefusedWithFileAndLine) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "p.yaml", GetParam().text).ok());
  const auto read = load_profile(folder / "p.yaml");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.code(), Code::invalid_argument);
  EXPECT_NE(read.error().message.find(GetParam().says), std::string::npos) << read.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    File, BadProfile,
    ::testing::Values(BadProfileCase{"key", "profile:\n  batch: 1\noperator a:\n  foward: 1ms\n",
                                     "p.yaml:4: unknown key 'foward'; did you mean 'forward'?"},
                      BadProfileCase{"memory", "profile:\noperator a:\n  memory: -1\n", "p.yaml:3: key 'memory'"},
                      BadProfileCase{"value", "profile:\n  batch: 0\n", "p.yaml:2: key 'batch'"},
                      BadProfileCase{"negative", "profile:\noperator a:\n  forward: -1ms\n", "p.yaml:3: key 'forward'"},
                      BadProfileCase{"section", "profile:\nconv1:\n  forward: 1ms\n",
                                     "p.yaml:2: unknown section 'conv1'"},
                      BadProfileCase{"no_head", "operator a:\n  forward: 1ms\n", "no section 'profile'"},
                      BadProfileCase{"no_operator", "profile:\n  batch: 1\n", "no section 'operator NAME'"},
                      BadProfileCase{"common", "bach: 1\nprofile:\noperator a:\n", "p.yaml:1: unknown key 'bach'"},
                      BadProfileCase{"no_yaml", "profile: [\n", "p.yaml:"}),
    [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace mangrove::plan
