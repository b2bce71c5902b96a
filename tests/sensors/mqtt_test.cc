// Against Debian's mosquitto, over sockets.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "tests/sensors/broker.h"

namespace mangrove::sensors {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

/// [0,0,0] has no clear class; [9,0,0] has class 0, and so on.
std::vector<std::string> clear_samples(int count) {
  std::vector<std::string> samples;
  for (int i = 0; i < count; ++i) samples.push_back(i % 3 == 0 ? "[9,0,0]" : i % 3 == 1 ? "[0,9,0]" : "[0,0,9]");
  return samples;
}

struct Heard {
  std::multiset<std::string> ids;
  std::map<int, int> classes;
};

/// The answers that come until there are so many, and those that come within a moment after.
Heard hear(Subscriber& subscriber, std::size_t count) {
  Heard heard;
  for (std::string text = subscriber.next(); !text.empty();
       text = subscriber.next(heard.ids.size() < count ? kTestLong : 0.5)) {
    const json answer = json::parse(text);
    heard.ids.insert(answer.at("id").get<std::string>());
    ++heard.classes[answer.at("top").at(0).at("class").get<int>()];
  }
  return heard;
}

void expect_each_once(const Heard& heard, std::size_t count) {
  EXPECT_EQ(heard.ids.size(), count);
  EXPECT_EQ(std::set<std::string>(heard.ids.begin(), heard.ids.end()).size(), count);
}

/// Waits until the service is subscribed: a message that it counts.
void wait_for_subscription(const RunningService& service, const Broker& broker, const std::string& topic) {
  ASSERT_TRUE(wait_for([&] {
    broker.publish(topic, {"no number"});
    return service.counts().sources.at(0).invalid > 0;
  }));
}

struct Dialect {
  const char* name;
  const char* version;
  int qos, answers_qos;
};

struct EveryDialect : ::testing::TestWithParam<Dialect> {};

TEST_P(EveryDialect, EachMessageIsAnsweredOnce) {
  const Broker broker;
  const std::string qos = std::to_string(GetParam().qos), answers_qos = std::to_string(GetParam().answers_qos);
  const RunningService service("leaves:\n  kind: mqtt\n  url: " + broker.url() + "\n  version: " + GetParam().version +
                               "\n  topic: leaf/+/sample\n  qos: " + qos + "\n  answers_qos: " + answers_qos +
                               "\n  answers: leaf/{topic[1]}/answer\n");
  Subscriber answers(broker, "leaf/north/answer");
  wait_for_subscription(service, broker, "leaf/north/sample");
  broker.publish("leaf/north/sample", clear_samples(300), GetParam().qos);
  const Heard heard = hear(answers, 300);
  expect_each_once(heard, 300);
  EXPECT_EQ(heard.classes, (std::map<int, int>{{0, 100}, {1, 100}, {2, 100}}));
  EXPECT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sent == 300 && counts.waiting == 0; }));
}

INSTANTIATE_TEST_SUITE_P(All, EveryDialect,
                         ::testing::Values(Dialect{"v311_qos0", "3.1.1", 0, 0}, Dialect{"v311_qos1", "3.1.1", 1, 1},
                                           Dialect{"v311_qos2", "3.1.1", 2, 2}, Dialect{"v5_qos1", "5", 1, 1},
                                           Dialect{"v5_qos2_out", "5", 1, 2}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Mqtt, ComesBackToABrokerThatWasKilled) {
  Broker broker;
  const RunningService service("leaves:\n  kind: mqtt\n  url: " + broker.url() +
                               "\n  topic: sample\n  answers: answer\n");
  wait_for_subscription(service, broker, "sample");
  broker.kill();
  broker.start();
  const std::uint64_t before = service.counts().sources[0].invalid;
  ASSERT_TRUE(wait_for([&] {
    broker.publish("sample", {"no number"});
    return service.counts().sources[0].invalid > before;
  }));
  EXPECT_EQ(service.counts().sources[0].reconnects, 1U);
  Subscriber answers(broker, "answer");
  broker.publish("sample", clear_samples(50));
  expect_each_once(hear(answers, 50), 50);
}

/// The letters are so long that most of them do not fit the buffers of the machine while the broker is frozen.
TEST(Mqtt, WhatIsSentWithQoS0AndDidNotGoOutBeforeTheConnectionEndedIsSentAgain) {
  const Broker field;
  Broker hub;
  const RunningService service("unsent: 100MB\nleaves:\n  kind: mqtt\n  url: " + field.url() +
                               "\n  topic: sample\n  queue_bytes: 100MB\n  threshold: 0.9\n  undecided: up\n  to: hub\n"
                               "hub:\n  kind: mqtt\n  url: " +
                               hub.url() + "\n  answers_qos: 0\n");
  wait_for_subscription(service, field, "sample");
  field.publish("sample", {"[1,1,1]"});
  ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sent == 1; }));
  hub.freeze();
  field.publish("sample", std::vector<std::string>(120, "[1,1,1" + std::string(400'000, ' ') + "]"));
  ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sources[0].undecided == 121; }));
  EXPECT_GT(service.counts().waiting, 0U);
  hub.kill();
  hub.start();
  EXPECT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sent == 121 && counts.waiting == 0; }));
  EXPECT_EQ(service.counts().sources[1].reconnects, 1U);
}

TEST(Mqtt, ASessionThatIsKeptGetsWhatCameWhileNobodyWasThere) {
  for (const char* version : {"3.1.1", "5"}) {
    const Broker broker;
    const std::string yaml = "leaves:\n  kind: mqtt\n  url: " + broker.url() + "\n  version: " + version +
                             "\n  topic: sample\n  answers: answer\n  client_id: board-1\n  keep_session: true\n";
    {
      const RunningService service(yaml);
      wait_for_subscription(service, broker, "sample");
    }
    broker.publish("sample", clear_samples(20));
    Subscriber answers(broker, "answer");
    const RunningService service(yaml);
    expect_each_once(hear(answers, 20), 20);
  }
}

TEST(Mqtt, ServersThatShareASubscriptionShareTheMessages) {
  const Broker broker;
  const std::string yaml =
      "leaves:\n  kind: mqtt\n  url: " + broker.url() + "\n  topic: $share/boards/sample\n  answers: answer\n";
  const RunningService one(yaml), two(yaml);
  wait_for_subscription(one, broker, "sample");
  wait_for_subscription(two, broker, "sample");
  Subscriber answers(broker, "answer");
  broker.publish("sample", clear_samples(100));
  expect_each_once(hear(answers, 100), 100);
  EXPECT_EQ(one.counts().sources[0].answered + two.counts().sources[0].answered, 100U);
  EXPECT_GT(one.counts().sources[0].answered, 0U);
  EXPECT_GT(two.counts().sources[0].answered, 0U);
}

TEST(Mqtt, AnswersWaitOnDiskWhileTheHubIsAwayAlsoOverARestartAndGoUpOnce) {
  const Broker field;
  Broker hub;
  const TemporaryFolder state;
  const std::string yaml =
      "offline_buffer: 10MB\nstate: " + state.path().string() + "\nleaves:\n  kind: mqtt\n  url: " + field.url() +
      "\n  topic: sample\n  answers: answer\n  to: hub\nhub:\n  kind: mqtt\n  url: " + hub.url() + "\n";
  hub.kill();
  {
    const RunningService service(yaml);
    wait_for_subscription(service, field, "sample");
    field.publish("sample", clear_samples(80));
    ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.waiting == 80; }));
    EXPECT_EQ(service.counts().sent, 0U);
  }
  hub.start();
  Subscriber answers(hub, "answer");
  const RunningService service(yaml);
  const Heard heard = hear(answers, 80);
  expect_each_once(heard, 80);
  EXPECT_EQ(heard.classes.at(0), 27);
  EXPECT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sent == 80 && counts.waiting == 0; }));
}

TEST(Mqtt, UndecidedSamplesGoUpAsTheyCameAndAServerAnswersEachOnce) {
  const Broker field, hub;
  const TemporaryFolder board_state, edge_state;
  const RunningService board(
      "offline_buffer: 10MB\nstate: " + board_state.path().string() + "\nleaves:\n  kind: mqtt\n  url: " + field.url() +
      "\n  topic: sample\n  threshold: 0.6\n  answers: answer\n  undecided: up/{id}\n  to: hub\nhub:\n"
      "  kind: mqtt\n  url: " +
      hub.url() + "\n");
  const RunningService edge("offline_buffer: 10MB\nstate: " + edge_state.path().string() +
                            "\nrest:\n  kind: mqtt\n  url: " + hub.url() +
                            "\n  topic: up/+\n  id: '{topic[1]}'\n  once: true\n  answers: answer\n");
  wait_for_subscription(board, field, "sample");
  wait_for_subscription(edge, hub, "up/probe");
  Subscriber answers(hub, "answer"), raw(hub, "up/+");
  field.publish("sample", {"[9,0,0]", "[1,1,1.5]", "[0,0,9]"});
  EXPECT_EQ(raw.next(), "[1,1,1.5]");
  expect_each_once(hear(answers, 3), 3);
  EXPECT_EQ(board.counts().sources[0].answered, 2U);
  EXPECT_EQ(board.counts().sources[0].undecided, 1U);
  EXPECT_EQ(edge.counts().sources[0].answered, 1U);

  hub.publish("up/again", {"[0,9,0]", "[0,9,0]"});
  EXPECT_EQ(json::parse(answers.next()).at("id"), "again");
  EXPECT_TRUE(edge.wait_until([](const SensorCounts& counts) { return counts.sources[0].duplicates == 1; }));
}

/// That the stop has begun is seen by CoAP, whose senders wait for the answer and are refused.
TEST(Mqtt, WhatTheBrokerWasToldHasComeIsAnsweredDuringTheGrace) {
  const Broker broker;
  Broker hub;
  const std::string coap = "coap://127.0.0.1:" + std::to_string(free_port(SOCK_DGRAM)) + "/leaf";
  const RunningService service("leaves:\n  kind: mqtt\n  url: " + broker.url() +
                               "\n  topic: sample\n  answers: answer\n  to: hub\nhub:\n  kind: mqtt\n  url: " +
                               hub.url() + "\ngate:\n  kind: coap\n  url: " + coap + "\n");
  wait_for_subscription(service, broker, "sample");
  broker.publish("sample", clear_samples(1));
  ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sent == 1; }));
  hub.freeze();
  broker.publish("sample", clear_samples(1));
  ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.waiting == 1; }));
  std::jthread stopping([&] { service.service->stop(kTestLong); });
  ASSERT_TRUE(wait_for([&] {
    output_of("/usr/bin/coap-client-openssl", {"-B", "2", "-m", "put", "-e", "[9,0,0]", coap});
    return service.counts().sources[2].dropped > 0;
  }));
  broker.publish("sample", clear_samples(20));
  EXPECT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sources[0].answered == 22; }));
  hub.thaw();
  stopping.join();
  EXPECT_EQ(service.counts().sent, 22U);
}

TEST(Mqtt, WhatABrokerOfVersion5RefusesIsCountedAndNotAsSent) {
  const TemporaryFolder folder;
  std::ofstream(folder / "acl") << "topic readwrite sample\n";
  const Broker broker("acl_file " + (folder / "acl").string() + "\n");
  for (const char* qos : {"1", "2"}) {
    const RunningService service("leaves:\n  kind: mqtt\n  url: " + broker.url() +
                                 "\n  version: 5\n  topic: sample\n  answers: answer\n  answers_qos: " + qos + "\n");
    wait_for_subscription(service, broker, "sample");
    broker.publish("sample", clear_samples(150));
    EXPECT_TRUE(
        service.wait_until([](const SensorCounts& counts) { return counts.refused == 150 && counts.waiting == 0; }));
    EXPECT_EQ(service.counts().sent, 0U);
  }
}

TEST(Mqtt, ASubscriptionThatTheBrokerRefusesIsCounted) {
  const TemporaryFolder folder;
  std::ofstream(folder / "rules.json")
      << R"({"defaultACLAccess":{"publishClientSend":true,"publishClientReceive":true,)"
      << R"("subscribe":false,"unsubscribe":true}})";
  const Broker broker("plugin /usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so\nplugin_opt_config_file " +
                      (folder / "rules.json").string() + "\n");
  for (const char* version : {"3.1.1", "5"}) {
    const RunningService service("leaves:\n  kind: mqtt\n  url: " + broker.url() + "\n  version: " + version +
                                 "\n  topic: sample\n");
    EXPECT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sources[0].unsubscribed == 1; }));
  }
}

TEST(Mqtt, AWindowOfASensorIsOneQuestion) {
  const Broker broker;
  const RunningService service("kind: mqtt\nurl: " + broker.url() +
                               "\nvalue: /v\ntime: /t\nahead: 1e12s\nwindow: 3\nlateness: 0s\nanswers: answer\n"
                               "air:\n  topic: air\n");
  wait_for_subscription(service, broker, "air");
  Subscriber answers(broker, "answer");
  std::vector<std::string> samples;
  for (int t = 3000; t <= 3006; ++t) samples.push_back(json{{"t", t}, {"v", t == 3001 || t == 3005 ? 9 : 0}}.dump());
  broker.publish("air", samples);
  EXPECT_EQ(json::parse(answers.next()).at("top").at(0).at("class"), 1);
  EXPECT_EQ(json::parse(answers.next()).at("top").at(0).at("class"), 2);
}

}  // namespace
}  // namespace mangrove::sensors
