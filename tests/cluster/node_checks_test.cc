#include "mangrove/cluster/node_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace mangrove::cluster {
namespace {

FromNode hello() {
  FromNode message;
  NodeDescription& node = *message.mutable_hello();
  node.set_name("pi");
  node.set_address("10.0.0.2:40000");
  node.set_host("greenhouse-pi");
  node.set_cores(4);
  node.set_threads(4);
  node.set_memory_bytes(GiB(4));
  node.set_reference_conv_flops(1e10);
  return message;
}

FromNode heartbeat() {
  FromNode message;
  ResourceUse& use = *message.mutable_heartbeat();
  use.set_cpu_percent(390);
  use.set_rss_bytes(MiB(200));
  for (int core = 0; core < 4; ++core) use.add_core_percent(100);
  use.set_temperature_c(80);
  RoleUse& role = *use.add_roles();
  role.set_job_id("job-1");
  PeerFlow& flow = *role.add_flows();
  flow.set_peer("coordinator");
  flow.set_purpose("gradients");
  flow.set_sent_bytes(GiB(100));
  return message;
}

/// As what cannot be, with a sentence that names the key.
void expect_refused(const FromNode& message, const std::string& key) {
  const Status checked = check_message(message);
  ASSERT_FALSE(checked.ok()) << key;
  EXPECT_EQ(checked.code(), Code::invalid_argument);
  EXPECT_NE(checked.error().message.find(key), std::string::npos) << checked.error().message;
  EXPECT_EQ(checked.error().message.find('\033'), std::string::npos) << "it is shown to people";
}

TEST(CheckMessage, TakesWhatBoardsSay) {
  for (const FromNode& message : {hello(), heartbeat(), FromNode()}) {
    const Status checked = check_message(message);
    EXPECT_TRUE(checked.ok()) << checked.error().message;
  }
  FromNode crowded = heartbeat();  // in a job of 1,000 nodes
  for (int peer = 0; peer < 5'000; ++peer)
    *crowded.mutable_heartbeat()->mutable_roles(0)->add_flows() = crowded.heartbeat().roles(0).flows(0);
  EXPECT_TRUE(check_message(crowded).ok());
}

TEST(CheckMessage, RefusesAHelloThatCannotBe) {
  using Change = std::function<void(NodeDescription&)>;
  const std::pair<const char*, Change> cases[] = {
      {"address", [](NodeDescription& node) { node.set_address("nowhere"); }},
      {"address", [](NodeDescription& node) { node.set_address("\033[2J:1"); }},
      {"host", [](NodeDescription& node) { node.set_host("\033]0;title\007"); }},
      {"host", [](NodeDescription& node) { node.set_host(std::string(1000, 'h')); }},
      {"cores", [](NodeDescription& node) { node.set_cores(-1); }},
      {"cores", [](NodeDescription& node) { node.set_cores(200'000); }},
      {"threads", [](NodeDescription& node) { node.set_threads(1 << 30); }},
      {"memory_bytes", [](NodeDescription& node) { node.set_memory_bytes(std::numeric_limits<std::int64_t>::min()); }},
      {"reference_conv_flops", [](NodeDescription& node) { node.set_reference_conv_flops(std::nan("")); }},
  };
  for (const auto& [key, change] : cases) {
    FromNode message = hello();
    change(*message.mutable_hello());
    expect_refused(message, key);
  }
}

TEST(CheckMessage, RefusesAHeartbeatThatCannotBe) {
  using Change = std::function<void(ResourceUse&)>;
  const std::pair<const char*, Change> cases[] = {
      {"cpu_percent", [](ResourceUse& use) { use.set_cpu_percent(-1); }},
      {"cpu_percent", [](ResourceUse& use) { use.set_cpu_percent(std::numeric_limits<double>::infinity()); }},
      {"rss_bytes", [](ResourceUse& use) { use.set_rss_bytes(std::numeric_limits<std::int64_t>::min()); }},
      {"received_bytes", [](ResourceUse& use) { use.set_received_bytes(-1); }},
      {"core_percent", [](ResourceUse& use) { use.add_core_percent(std::nanf("")); }},
      {"core_percent", [](ResourceUse& use) { use.mutable_core_percent()->Resize(200'000, 1); }},
      {"flows", [](ResourceUse& use) { use.mutable_roles(0)->mutable_flows(0)->set_peer("\033[2J"); }},
  };
  for (const auto& [key, change] : cases) {
    FromNode message = heartbeat();
    change(*message.mutable_heartbeat());
    expect_refused(message, key);
  }
}

TEST(CheckMessage, RefusesWhatIsTooLong) {
  FromNode long_hello = hello(), long_heartbeat = heartbeat(), long_end;
  long_hello.mutable_hello()->set_name(std::string(KiB(64), 'n'));
  long_heartbeat.mutable_heartbeat()->mutable_roles(0)->mutable_flows(0)->set_purpose(std::string(MiB(1), 'p'));
  long_end.mutable_role_ended()->set_message(std::string(KiB(64), 'm'));
  for (const FromNode& message : {long_hello, long_heartbeat, long_end})
    EXPECT_EQ(check_message(message).code(), Code::resource_exhausted);
}

}  // namespace
}  // namespace mangrove::cluster
