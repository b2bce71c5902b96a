#include "mangrove/infer/tiers/tier_file.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace mangrove::infer {
namespace {

using mangrove::testing::TemporaryFolder;

Result<std::vector<TierSpec>> load(const std::string& text) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_file_atomically(folder / "tiers.yaml", text).ok());
  return load_tiers(folder / "tiers.yaml");
}

TEST(TierFile, SaysDevicesNetworksAndWays) {
  const auto tiers = load(
      "trusted: false\nprivacy: split@conv1\n"
      "cloud:\n  model: c.onnx\n  accuracy: 0.81\n"
      "end:\n  count: 8\n  model: mobilenet-0.5\n  labels: coarse\n  trusted: true\n"
      "edge:\n  count: 4\n  model: resnet-34\n"
      "end - edge:\n  delay: 500ms\n  rate: 100mbit\n"
      "edge - cloud:\n  delay: 1s\n  rate: 8mbit\n");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  ASSERT_EQ(tiers->size(), 3u);
  EXPECT_EQ(device_count(*tiers), 13);
  const TierSpec &end = (*tiers)[0], &edge = (*tiers)[1], &cloud = (*tiers)[2];
  EXPECT_EQ(end.tier, Tier::end);
  EXPECT_EQ(end.model, "mobilenet-0.5");
  EXPECT_TRUE(end.is_coarse() && end.trusted);
  EXPECT_EQ(end.delay, 0);
  EXPECT_FALSE(edge.is_coarse() || edge.trusted);
  EXPECT_EQ(edge.privacy, "split@conv1");
  EXPECT_EQ(end.privacy, "") << "it is trusted, and gets the samples";
  EXPECT_EQ(edge.delay, 0.5);
  EXPECT_EQ(edge.rate, 12.5e6);
  EXPECT_EQ(cloud.count, 1);
  EXPECT_EQ(cloud.accuracy, 0.81);
  EXPECT_EQ(cloud.delay, 1.5) << "over the edge";
  EXPECT_EQ(cloud.rate, 1e6);
}

TEST(TierFile, TakesTheDirectWayToTheCloud) {
  const auto tiers = load(
      "model: lenet\nend:\ncloud:\nedge:\n"
      "end - cloud:\n  delay: 1s\nend - edge:\n  delay: 500ms\n");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  EXPECT_EQ((*tiers)[2].delay, 1);
  EXPECT_EQ((*tiers)[2].rate, 0);
}

TEST(TierFile, TheWayToACloudThatGoesOnWhereEdgeServersStopIsFromThese) {
  const auto tiers = load(
      "model: branchy-resnet-14\nend:\n  exits: 1\nedge:\n  exits: 2\ncloud:\n"
      "end - edge:\n  delay: 500ms\n  rate: 8mbit\nedge - cloud:\n  delay: 1s\n");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  EXPECT_EQ((*tiers)[0].exits, 1);
  EXPECT_EQ((*tiers)[1].exits, 2);
  EXPECT_EQ((*tiers)[1].delay, 0.5);
  EXPECT_EQ((*tiers)[2].delay, 1);
  EXPECT_EQ((*tiers)[2].rate, 0);
}

TEST(TierFile, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::string& text) {
    const auto tiers = load(text);
    EXPECT_FALSE(tiers.ok()) << text;
    return tiers.ok() ? "" : tiers.error().message;
  };
  const struct {
    const char *text, *message;
  } cases[] = {
      {"edge:\n  model: lenet\n", "tiers.yaml:1: no section 'end'"},
      {"end:\n  count: 2\n", "tiers.yaml:1: tier 'end': no key 'model'"},
      {"end:\n  model: lenet\n  labels: rough\n", "key 'labels': expected fine or coarse, got 'rough'"},
      {"end:\n  model: lenet\nedgy:\n  model: lenet\n", "unknown section 'edgy'; did you mean 'edge'?"},
      {"end:\n  modle: lenet\n", "tiers.yaml:2: unknown key 'modle'; did you mean 'model'?"},
      {"end:\n  model: lenet\n  count: 0\n", "key 'count': '0' is not a whole number from 1"},
      {"end:\n  model: lenet\nend - edge:\n  delay: 1s\n", "link 'end - edge': there is no section 'edge'"},
      {"end:\n  model: lenet\nedge:\n  model: lenet\nend - edge:\n  delay: soon\n", "key 'delay': 'soon' is not"},
      {"end:\n  model: lenet\n  trusted: false\n",
       "tiers.yaml:1: tier 'end': it is not trusted, and has no key 'privacy'"},
      {"end:\n  model: lenet\n  trusted: false\n  privacy: conv1\n", "privacy: expected split@LAYER"},
      {"model: branchy-lenet\nend:\n  exits: 1\ncloud:\n  exits: 2\n",
       "tiers.yaml:4: tier 'cloud': key 'exits': it is of end devices and edge servers; the cloud computes the rest"},
      {"model: branchy-lenet\nend:\n  exits: 1\nedge:\n  exits: 2\ncloud:\nend - cloud:\n  delay: 1s\n",
       "tiers.yaml:7: link 'end - cloud': with the key 'exits' of tier 'edge' the cloud goes on where edge servers "
       "stop"},
      {"model: branchy-lenet\nend:\n  exits: 0\n", "key 'exits': '0' is not a whole number from 1"},
      {"dealy: 1s\nend:\n  model: lenet\n", "unknown key 'dealy'; did you mean 'delay'?"},
  };
  for (const auto& [text, message] : cases) EXPECT_NE(refused(text).find(message), std::string::npos) << refused(text);
}

}  // namespace
}  // namespace mangrove::infer
