#include "mangrove/place/scenario_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mangrove/place/service_graph.h"

namespace mangrove::place {
namespace {

const std::string kSmall = R"(
device pi: {count: 3, flops: 2e9, memory: 1GB, zone: farm}
device cloud: {flops: 4e10, cores: 8, accelerator: gpu, accelerator_flops: 1e13}
link pi - cloud: {rate: 8mbit, delay: 20ms}
link pi - pi: {rate: 80mbit, delay: 1ms}
licence codec: {devices: 2}
service watch: {count: 2, rate: 4, deadline: 500ms}
task watch/take: {operations: 1e7, device: pi}
task watch/look: {operations: 2e8, memory: 100MB, licence: codec, zones: "farm, town"}
task watch/tell: {operations: 1e6, device: cloud, wait: any}
flow watch/take - look: {bytes: 100kB, share: 0.5}
flow watch/look - tell: {bytes: 1kB}
)";

std::string error_of(const std::string& text) {
  const auto scenario = parse_scenario(text, "s.yaml");
  if (scenario.ok()) return "";
  EXPECT_EQ(scenario.code(), Code::invalid_argument);
  return scenario.error().message;
}

/// Of the small scenario with one text in place of another.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return error_of(text.replace(at, from.size(), to));
}

TEST(ScenarioFile, ReadsKindsAndCounts) {
  const auto scenario = parse_scenario(kSmall, "s.yaml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  ASSERT_EQ(scenario->devices.size(), 4u);
  EXPECT_EQ(scenario->devices[1].name, "pi-2");
  EXPECT_EQ(scenario->devices[1].memory, 1'000'000'000);
  EXPECT_EQ(scenario->devices[3].accelerator, "gpu");
  EXPECT_EQ(scenario->links.size(), 6u);  // three to the cloud, three between boards
  EXPECT_DOUBLE_EQ(scenario->links[0].rate, 1e6);
  ASSERT_EQ(scenario->services.size(), 2u);
  const Service& second = scenario->services[1];
  EXPECT_EQ(second.name, "watch-2");
  EXPECT_DOUBLE_EQ(second.deadline, 0.5);
  EXPECT_EQ(second.tasks[0].device, 1u);  // each has a board of its own
  EXPECT_EQ(second.tasks[1].zones, (std::vector<std::string>{"farm", "town"}));
  EXPECT_EQ(second.tasks[2].device, 3u);
  const ServiceRates rates = rates_of(second, *topological_order(second));
  EXPECT_EQ(rates.tasks, (std::vector<double>{4, 2, 2}));
  EXPECT_EQ(rates.flows, (std::vector<double>{2, 2}));
}

TEST(ScenarioFile, LinksHaveTheZoneOfTheirEnds) {
  const auto scenario = parse_scenario(R"(
device a: {count: 2, zone: farm}
device b: {zone: town}
link a - a: {}
link a-1 - b: {}
link a-2 - b: {zone: farm}
service s: {}
task s/t: {}
task s/u: {}
flow s/t - u: {zones: "farm, town"}
)",
                                       "s.yaml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  EXPECT_EQ(scenario->links[0].zone, "farm");
  EXPECT_EQ(scenario->links[1].zone, "");
  EXPECT_EQ(scenario->links[2].zone, "farm");
  EXPECT_EQ(scenario->services[0].flows[0].zones, (std::vector<std::string>{"farm", "town"}));
}

TEST(ScenarioFile, SpreadsLinks) {
  const auto scenario = parse_scenario(R"(
device end: {count: 5}
device edge: {count: 2}
link end - edge: {rate: 1mbit, pairs: spread}
service s: {}
task s/t: {}
)",
                                       "s.yaml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  std::vector<std::size_t> edges;
  for (const Link& link : scenario->links) edges.push_back(link.to);
  EXPECT_EQ(edges, (std::vector<std::size_t>{5, 5, 5, 6, 6}));
}

TEST(ScenarioFile, SaysWhatIsWrong) {
  EXPECT_EQ(error_with("flops: 2e9", "flop: 2e9"), "s.yaml:2: unknown key 'flop'; did you mean 'flops'?");
  EXPECT_NE(error_with("flops: 2e9", "flops: -1").find("s.yaml:2: key 'flops'"), std::string::npos)
      << error_with("flops: 2e9", "flops: -1");
  EXPECT_NE(error_with("flops: 2e9", "flops: nan").find("'nan' is not"), std::string::npos);
  EXPECT_NE(error_with("device: cloud", "device: clod").find("there is no device 'clod'; did you mean 'cloud'?"),
            std::string::npos);
  EXPECT_NE(error_with("link pi - cloud", "link pi - moon").find("s.yaml:4: there is no device 'moon'"),
            std::string::npos);
  EXPECT_NE(error_with("link pi - cloud", "link pi").find("expected two names"), std::string::npos);
  EXPECT_NE(error_with("link pi - pi", "link cloud - pi").find("is given twice"), std::string::npos);
  EXPECT_NE(error_with("flow watch/look - tell", "flow watch/look - take").find("go in a circle"), std::string::npos);
  EXPECT_NE(error_with("look - tell", "look - tel").find("has no task 'tel'; did you mean 'tell'?"), std::string::npos);
  EXPECT_NE(error_with("flow watch/", "flow witch/").find("there is no service 'witch'; did you mean 'watch'?"),
            std::string::npos);
  EXPECT_NE(error_with("licence: codec", "licence: kodec").find("no section 'licence kodec'"), std::string::npos);
  EXPECT_NE(error_with("wait: any", "wait: some").find("neither 'all' nor 'any'"), std::string::npos);
  EXPECT_NE(error_with("device pi", "devise pi").find("unknown section 'devise pi'"), std::string::npos);
  EXPECT_NE(error_with("accelerator_flops: 1e13", "cores: 8").find("given twice"), std::string::npos);
  EXPECT_NE(error_with(", accelerator_flops: 1e13", "").find("expected both, or none"), std::string::npos);
  EXPECT_NE(error_with("count: 2", "count: 2, failures: 9").find("'9' is not"), std::string::npos);
  EXPECT_NE(error_with("rate: 4", "rate: 4, peak: 3").find("key 'peak': expected no less than 'rate'"),
            std::string::npos);
  EXPECT_NE(error_with("delay: 20ms", "delay: 20ms, worst_delay: 10ms").find("no less than 'delay'"),
            std::string::npos);
  EXPECT_NE(error_with("delay: 20ms", "worst_rate: 9mbit").find("no more than 'rate'"), std::string::npos);
  EXPECT_NE(error_of("a: b\n").find("s.yaml"), std::string::npos);
  EXPECT_NE(error_of("device pi: {}\n").find("no services"), std::string::npos);
  EXPECT_NE(error_of("device pi: {}\nservice s: {}\n").find("'s' has no task"), std::string::npos);
}

TEST(ScenarioFile, BoundsWhatAFileCanAskFor) {
  EXPECT_NE(error_of("device a: {count: 4000}\ndevice b: {count: 4000}\n").find("more than 4096 devices"),
            std::string::npos);
  EXPECT_NE(error_of("device a: {count: 4000}\nlink a - a: {}\n").find("more than 100000 links"), std::string::npos);
  EXPECT_NE(
      error_of("device a: {}\nservice s: {count: 10000}\ntask s/a: {}\ntask s/b: {}\n").find("more than 10000 tasks"),
      std::string::npos);
  EXPECT_NE(error_of(fmt::format("{:9000000}", "")).find("at most 8.00 MB"), std::string::npos);
  // a few lines that stand for very much
  std::string bomb = "device a: &a\n";
  for (int i = 0; i < 2000; ++i) bomb += fmt::format("  k{}: 1\n", i);
  for (int i = 0; i < 2000; ++i) bomb += fmt::format("device b{}: *a\n", i);
  EXPECT_NE(error_of(bomb).find("more than 1,000,000 keys"), std::string::npos) << error_of(bomb).substr(0, 200);
}

}  // namespace
}  // namespace mangrove::place
