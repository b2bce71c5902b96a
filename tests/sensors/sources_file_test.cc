#include "mangrove/sensors/sources_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <string>

#include "tests/base/temporary_folder.h"
#include "tests/paths.h"

#include "mangrove/base/file.h"

namespace mangrove::sensors {
namespace {

Result<SourcesFile> parsed(const std::string& text) {
  return parse_sources(text, "s.yaml");
}

std::string refusal_of(const std::string& text) {
  const auto file = parsed(text);
  return file.ok() ? "" : file.error().message;
}

TEST(SourcesFile, CommonKeysHoldForEverySection) {
  const auto file = parsed(R"(
url: mqtt://hub:1884
kind: mqtt
offline_buffer: 1GB
air:
  topic: house/+/air
  value: /celsius
  answers: house/{topic[1]}/answer
soil:
  topic: house/+/soil
  payload: f32
  queue: 7
  when_full: drop_newest
)");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->sources.size(), 2U);
  EXPECT_EQ(file->offline_buffer, 1'000'000'000);
  EXPECT_EQ(file->sources[0].link.url, "mqtt://hub:1884");
  EXPECT_EQ(file->sources[0].payload.value, "/celsius");
  EXPECT_EQ(file->sources[1].queue.messages, 7);
  EXPECT_EQ(file->sources[1].queue.when_full, WhenFull::drop_newest);
  EXPECT_EQ(file->sources[1].payload.value, "");
}

struct WrongFile {
  const char* name;
  const char* text;
  const char* says;  // a part of the message
};

struct WrongSources : ::testing::TestWithParam<WrongFile> {};

TEST_P(WrongSources, SayWhatIsWrongAndWhere) {
  const std::string message = refusal_of(GetParam().text);
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
  EXPECT_EQ(message.find("s.yaml"), 0U) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSources,
    ::testing::Values(
        WrongFile{"no_kind", "a:\n  topic: x\n", "needs a kind: mqtt"},
        WrongFile{"unknown_kind", "a:\n  kind: mqqt\n  url: mqtt://h\n", "unknown kind 'mqqt'; did you mean 'mqtt'"},
        WrongFile{"unknown_key", "a:\n  kind: mqtt\n  url: mqtt://h\n  topc: x\n", "s.yaml:4: unknown key 'topc'"},
        WrongFile{"url", "a:\n  kind: mqtt\n  url: http://h\n", "expected mqtt://HOST:PORT or mqtts://HOST:PORT"},
        WrongFile{"port", "a:\n  kind: mqtt\n  url: mqtt://h:99999\n", "is no address"},
        WrongFile{"filter", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: a/#/b\n", "is no subscription"},
        WrongFile{"qos", "a:\n  kind: mqtt\n  url: mqtt://h\n  qos: 3\n", "from 0 to 2"},
        WrongFile{"v5_qos2", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: x\n  version: 5\n  qos: 2\n",
                  "does not work with version 5"},
        WrongFile{"circle", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: 'a/#'\n  answers: a/{id}\n",
                  "would come back"},
        WrongFile{"circle_by_another_url",
                  "a:\n  kind: mqtt\n  url: mqtt://Hub\n  answers: b/x\n"
                  "b:\n  kind: mqtt\n  url: mqtt://hub:1883\n  topic: 'b/#'\n",
                  "would come back"},
        WrongFile{"circle_on_this_machine",
                  "a:\n  kind: mqtt\n  url: mqtt://localhost\n  answers: b/x\n"
                  "b:\n  kind: mqtt\n  url: mqtt://127.0.0.1:1883\n  topic: 'b/#'\n",
                  "would come back"},
        WrongFile{"sink", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: x\n  answers: y\n  to: hub\n",
                  "no section 'hub'"},
        WrongFile{"place", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: x\n  answers: 'y/{topc}'\n",
                  "unknown place '{topc}'"},
        WrongFile{"once", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: x\n  once: true\n",
                  "give id and offline_buffer"},
        WrongFile{"threshold", "a:\n  kind: mqtt\n  url: mqtt://h\n  topic: x\n  undecided: u\n", "give threshold"},
        WrongFile{"session", "a:\n  kind: mqtt\n  url: mqtt://h\n  keep_session: true\n", "for a client_id"},
        WrongFile{"tls", "a:\n  kind: mqtt\n  url: mqtt://h\n  ca: x.pem\n", "they need an url of mqtts://"},
        WrongFile{"pair", "a:\n  kind: mqtt\n  url: mqtts://h\n  key: x.pem\n", "'certificate' and 'key': give both"},
        WrongFile{"images", "a:\n  kind: mqtt\n  url: mqtt://h\n  payload: image\n  window: 4\n", "not of images"},
        WrongFile{"hop", "a:\n  kind: mqtt\n  url: mqtt://h\n  window: 100000\n  hop: 1\n", "more than 16,000,000"},
        WrongFile{"late", "a:\n  kind: mqtt\n  url: mqtt://h\n  window: 1000\n  hop: 10\n  lateness: 200000s\n",
                  "more than 16,000,000"},
        WrongFile{"rows",
                  "kind: mqtt\nurl: mqtt://h\nwindow: 1000000\njoin: x\na:\n  topic: p\nb:\n  topic: q\nc:\n  topic: "
                  "r\nd:\n  topic: s\n",
                  "more than 16,000,000"},
        WrongFile{"join", "a:\n  kind: mqtt\n  url: mqtt://h\n  join: x\n", "give window, too"},
        WrongFile{"joined", "kind: mqtt\nurl: mqtt://h\njoin: x\na:\n  window: 4\nb:\n  window: 5\n",
                  "must be the same"},
        WrongFile{"whole", "a:\n  kind: mqtt\n  url: mqtt://h\n  offline_buffer: 1GB\n", "outside sections"},
        WrongFile{"name", "a b:\n  kind: mqtt\n  url: mqtt://h\n", "is no name for a source"},
        WrongFile{"longest", "a:\n  kind: mqtt\n  url: mqtt://h\n  max_message: 1GB\n", "max_message"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(SourcesFile, APasswordThatOthersMayReadIsRefused) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "password";
  std::ofstream(file) << "secret\n";
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  const std::string text = "a:\n  kind: mqtt\n  url: mqtts://h\n  user: u\n  password_file: " + file.string() + "\n";
  EXPECT_NE(refusal_of(text).find("chmod"), std::string::npos) << refusal_of(text);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(refusal_of(text), "");
}

TEST(SourcesFile, APasswordLeavesTheMachineOnlyEncrypted) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "password";
  std::ofstream(file) << "secret\n";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  const auto refusal = [&](const std::string& url) {
    return refusal_of("a:\n  kind: mqtt\n  url: " + url + "\n  user: u\n  password_file: " + file.string() + "\n");
  };
  EXPECT_NE(refusal("mqtt://hub.farm").find("in plain text: give an url of mqtts://"), std::string::npos);
  for (const char* url : {"mqtts://hub.farm", "mqtt://127.0.0.1", "mqtt://localhost:1884", "'mqtt://[::1]'"})
    EXPECT_EQ(refusal(url), "") << url;
}

/// Each key stands in a row of the page, "| `key` | ..."; and there are no other such rows.
TEST(SourcesFile, ThePageHasARowForEachKeyAndNoOther) {
  SourceOptions options;
  SourcesFile file;
  std::set<std::string> keys;
  for (const std::string& name : source_keys(options, "").names()) keys.insert(name);
  for (const std::string& name : file_keys(file).names()) keys.insert(name);
  const std::string page = read_file(testing::repository_path("docs/sensors.md")).value();
  const std::size_t begin = page.find("## Keys"), end = page.find("\n## ", begin + 1);
  ASSERT_NE(begin, std::string::npos);
  std::set<std::string> shown;
  for (std::size_t at = page.find("\n| `", begin); at < end; at = page.find("\n| `", at + 1))
    shown.insert(page.substr(at + 4, page.find('`', at + 4) - at - 4));
  EXPECT_EQ(shown, keys);
}

}  // namespace
}  // namespace mangrove::sensors
