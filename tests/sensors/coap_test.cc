// Against libcoap's own client and server, over sockets.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/sensors/broker.h"

#include "mangrove/sensors/coap_blocks.h"
#include "mangrove/sensors/coap_exchanges.h"

namespace mangrove::sensors {
namespace {

using testing::TemporaryFolder;
using State = CoapBlocks::State;

constexpr const char* kCoapClient = "/usr/bin/coap-client-openssl";
constexpr const char* kCoapServer = "/usr/bin/coap-server-openssl";

TEST(CoapBlocks, JoinsABodyAndTakesARepeatedBlockOnce) {
  CoapBlocks blocks({.body = 100, .all = 1000});
  EXPECT_EQ(blocks.add(1, 0, true, "abcd", Instant{0}).state, State::more);
  EXPECT_EQ(blocks.add(2, 0, true, "ABCD", Instant{0}).state, State::more);
  EXPECT_EQ(blocks.add(1, 4, true, "efgh", Instant{0}).state, State::more);
  EXPECT_EQ(blocks.add(1, 4, true, "efgh", Instant{0}).state, State::more);
  const auto whole = blocks.add(1, 8, false, "ij", Instant{0});
  EXPECT_EQ(whole.state, State::whole);
  EXPECT_EQ(whole.body, "abcdefghij");
  EXPECT_EQ(blocks.bytes(), 4);
}

TEST(CoapBlocks, RefusesGapsLongBodiesAndTooManyOfThem) {
  CoapBlocks blocks({.body = 8, .all = 12, .within = 60});
  EXPECT_EQ(blocks.add(1, 4, true, "efgh", Instant{0}).state, State::incomplete);
  EXPECT_EQ(blocks.add(1, 0, false, "123456789", Instant{0}).state, State::too_long);
  EXPECT_EQ(blocks.add(1, 0, true, "12345678", Instant{0}).state, State::more);
  EXPECT_EQ(blocks.add(1, 8, true, "9", Instant{0}).state, State::too_long);
  EXPECT_EQ(blocks.add(1, 0, true, "12345678", Instant{0}).state, State::more);
  EXPECT_EQ(blocks.add(2, 0, true, "12345", Instant{0}).state, State::no_room);
  EXPECT_EQ(blocks.add(2, 0, true, "12345", Instant{61}).state, State::more) << "the other one has been forgotten";
  EXPECT_EQ(blocks.bytes(), 5);
}

TEST(CoapExchanges, KnowARepeatedMessageUntilItsNumberMayBeUsedAgain) {
  CoapExchanges exchanges;
  EXPECT_FALSE(exchanges.is_repeated("a 1", Instant{0}));
  EXPECT_FALSE(exchanges.is_repeated("a 2", Instant{1}));
  EXPECT_TRUE(exchanges.is_repeated("a 1", Instant{246}));
  EXPECT_FALSE(exchanges.is_repeated("a 1", Instant{247.5}));
  EXPECT_TRUE(exchanges.is_repeated("a 2", Instant{247.5}));
}

TEST(CoapExchanges, RememberTheLastThousand) {
  CoapExchanges exchanges;
  for (int i = 0; i < 1001; ++i) EXPECT_FALSE(exchanges.is_repeated(std::to_string(i), Instant{0}));
  EXPECT_TRUE(exchanges.is_repeated("1", Instant{0}));
  EXPECT_FALSE(exchanges.is_repeated("0", Instant{0}));
}

std::string put(const std::string& url, const std::string& file, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"-B", "20", "-m", "put", "-f", file};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back(url);
  return output_of(kCoapClient, words);
}

struct Coap : ::testing::Test {
  std::string file(const std::string& content) {
    const fs::path path = folder / ("body" + std::to_string(++files));
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  const TemporaryFolder folder;
  int files = 0;
  const int port = free_port(SOCK_DGRAM);
  const std::string address = "127.0.0.1:" + std::to_string(port);
};

TEST_F(Coap, AnswersWhoPutsASampleThereInOneMessageOrInBlocks) {
  const RunningService service("leaf:\n  kind: coap\n  url: coap://" + address + "/leaf\n  max_message: 20kB\n");
  const std::string url = "coap://" + address + "/leaf";
  EXPECT_NE(put(url, file("[0,9,0]")).find(R"("label":"middle")"), std::string::npos);
  const std::string long_sample = "[0," + std::string(5000, ' ') + "0,9]";
  EXPECT_NE(put(url, file(long_sample), {"-b", "256"}).find(R"("label":"high")"), std::string::npos);
  EXPECT_EQ(service.counts().sources[0].answered, 2U);
}

TEST_F(Coap, SaysWhatIsWrongWithASample) {
  const RunningService service("leaf:\n  kind: coap\n  url: coap://" + address + "/leaf\n  max_message: 2kB\n");
  const std::string url = "coap://" + address + "/leaf";
  put(url, file("[1,2]"));
  EXPECT_EQ(service.counts().sources[0].failed, 1U);
  put(url, file("hello"));
  EXPECT_EQ(service.counts().sources[0].invalid, 1U);
  put(url, file(std::string(5000, ' ')), {"-b", "256"});
  EXPECT_EQ(service.counts().sources[0].received, 2U) << "a body that is too long is refused before it is whole";
}

TEST_F(Coap, WithASharedKeyOnlyWhoHasItIsAnswered) {
  const fs::path key = folder / "key";
  std::ofstream(key) << "0123456789abcdef\n";
  ASSERT_EQ(::chmod(key.c_str(), 0600), 0);
  const RunningService service("leaf:\n  kind: coap\n  url: coaps://" + address +
                               "/leaf\n  psk_identity: leaf-7\n  psk_file: " + key.string() + "\n");
  const std::string url = "coaps://" + address + "/leaf", sample = file("[9,0,0]");
  EXPECT_NE(put(url, sample, {"-u", "leaf-7", "-k", "0123456789abcdef"}).find(R"("label":"low")"), std::string::npos);
  output_of(kCoapClient, {"-B", "3", "-m", "put", "-f", sample, "-u", "leaf-7", "-k", "0123456789abcdeX", url});
  output_of(kCoapClient, {"-B", "3", "-m", "put", "-f", sample, "-u", "leaf-8", "-k", "0123456789abcdef", url});
  EXPECT_EQ(service.counts().sources[0].received, 1U);
}

TEST_F(Coap, ObservesAResourceOfASensor) {
  const auto sensor =
      cluster::ChildProcess::start(kCoapServer, {"-A", "127.0.0.1", "-p", std::to_string(port), "-d", "5"}, "");
  ASSERT_TRUE(sensor.ok()) << sensor.error().message;
  const std::string url = "coap://" + address + "/leaf";
  ASSERT_TRUE(wait_for([&] {
    output_of(kCoapClient, {"-B", "2", "-m", "put", "-e", "[9,0,0]", url});
    return output_of(kCoapClient, {"-B", "2", url}).find("[9,0,0]") != std::string::npos;
  }));
  const Broker broker;
  const RunningService service("leaf:\n  kind: coap-observe\n  url: " + url +
                               "\n  answers: answer\n  to: hub\nhub:\n  kind: mqtt\n  url: " + broker.url() + "\n");
  ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sources[0].answered == 1; }));
  output_of(kCoapClient, {"-B", "2", "-m", "put", "-e", "[0,0,9]", url});
  EXPECT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sources[0].answered == 2; }));
}

TEST_F(Coap, ARefreshOfAnObservationDoesNotDoubleTheLastReading) {
  const auto sensor =
      cluster::ChildProcess::start(kCoapServer, {"-A", "127.0.0.1", "-p", std::to_string(port), "-d", "5"}, "");
  ASSERT_TRUE(sensor.ok()) << sensor.error().message;
  const std::string url = "coap://" + address + "/leaf";
  ASSERT_TRUE(wait_for([&] {
    output_of(kCoapClient, {"-B", "2", "-m", "put", "-e", "[9,0,0]", url});
    return output_of(kCoapClient, {"-B", "2", url}).find("[9,0,0]") != std::string::npos;
  }));
  const RunningService service("leaf:\n  kind: coap-observe\n  refresh: 1s\n  url: " + url + "\n");
  ASSERT_TRUE(service.wait_until([](const SensorCounts& counts) { return counts.sources[0].repetitions >= 2; }));
  EXPECT_EQ(service.counts().sources[0].received, 1U);
}

}  // namespace
}  // namespace mangrove::sensors
