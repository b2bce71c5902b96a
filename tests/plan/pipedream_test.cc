#include "mangrove/plan/pipedream.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mangrove::plan {
namespace {

const std::string kFork =
    "node3 -- ReLU(inplace) -- forward_compute_time=1.500, backward_compute_time=0.500, activation_size=80.000, "
    "parameter_size=0.000\n"
    "node1 -- Input -- forward_compute_time=9.000, backward_compute_time=0.000, activation_size=300.000, "
    "parameter_size=0.000\n"
    "node2 -- Conv2d(3, 8, kernel_size=(3, 3)) -- forward_compute_time=2.000, backward_compute_time=4.000, "
    "activation_size=100.000, parameter_size=864.000\n"
    "node4 -- Add -- forward_compute_time=0.250, backward_compute_time=0.000, activation_size=60.000, "
    "parameter_size=0.000\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n\tnode2 -- node4\n";

TEST(PipeDreamProfile, IsRead) {
  const auto profile = parse_pipedream(kFork);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  const Layers& network = profile->network;
  ASSERT_EQ(network.layers.size(), 3u);  // without the input
  EXPECT_EQ(network.layers[0].name, "node2 Conv2d");
  EXPECT_EQ(network.layers[0].parameters, 864);
  EXPECT_EQ(network.layers[1].name, "node3 ReLU");
  EXPECT_EQ(network.layers[2].activations, 60);
  EXPECT_EQ(profile->forward, (std::vector<Seconds>{0.002, 0.0015, 0.00025}));
  EXPECT_EQ(profile->backward, (std::vector<Seconds>{0.004, 0.0005, 0}));
  const auto flow_of = [&](std::optional<std::size_t> from) {
    return *std::ranges::find(network.flows, from, &Flow::from);
  };
  EXPECT_EQ(flow_of(std::nullopt).to, (std::vector<std::size_t>{0}));
  EXPECT_EQ(flow_of(std::nullopt).bytes, 300);
  EXPECT_EQ(flow_of(0).to, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(flow_of(0).bytes, 100);
  EXPECT_TRUE(flow_of(2).is_result);
  EXPECT_FALSE(flow_of(1).is_result);
}

TEST(PipeDreamProfile, ThatIsNoneIsRefusedWithItsLine) {
  const auto says = [](const std::string& text) {
    const auto profile = parse_pipedream(text);
    return profile.ok() ? "read" : profile.error().message;
  };
  EXPECT_NE(says("hello\n").find("line 1: not 'nodeN -- NAME"), std::string::npos);
  EXPECT_NE(says(kFork + "\tnode2 -- node9\n").find("line 9: an edge of a node that is not there"), std::string::npos);
  EXPECT_NE(says(kFork + "\tnode4 -- node2\n").find("cycle"), std::string::npos);
  EXPECT_NE(says(kFork + kFork).find("line 9: there is a 'node3' already"), std::string::npos);
  EXPECT_NE(says("").find("no layers"), std::string::npos);
  EXPECT_EQ(load_pipedream("/none/x.txt").code(), Code::not_found);
}

}  // namespace
}  // namespace mangrove::plan
