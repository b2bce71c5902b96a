// The dashboard as people start it, asked over a socket.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/cli/separate_processes.h"
#include "tests/serve/http/raw_client.h"

namespace mangrove {
namespace {

using nlohmann::json;
using serve::get;
using serve::post;
using serve::RawClient;
using serve::RawReply;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::SeparateProcesses;
using testing::TemporaryFolder;
using testing::text_of;

constexpr Seconds kDashboardLong = 60;

struct DashboardCommand : SeparateProcesses {
  void SetUp() override { start_secure_coordinator("127.0.0.1:0", folder / "state"); }

  /// Starts the program on a free port, and waits until it says where it listens.
  void start(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {program(), "dashboard", "--coordinator", address});
    words.insert(words.end(), {"--listen", "127.0.0.1:0"});
    dashboard = std::make_unique<Process>(words);
    dashboard->wait_until([&] { return dashboard->out().find("://") != std::string::npos; }, kDashboardLong);
    read_address(dashboard->out());
  }
  void read_address(const std::string& text) {
    const std::string where = after(text, "://127.0.0.1:");
    ASSERT_FALSE(where.empty()) << text << dashboard->err();
    port = std::stoi(where);
    token = after(where, "#token=").substr(0, 32);
  }
  RawReply ask(const std::string& request) const {
    RawClient client(port);
    client.send(request);
    return client.reply();
  }
  std::string shown() const { return "Authorization: Bearer " + token + "\r\n"; }

  const TemporaryFolder folder;
  std::unique_ptr<Process> dashboard;
  std::string token;
  int port = 0;
};

TEST_F(DashboardCommand, ShowsAndRunsWhatTheClusterDoes) {
  const auto node = start_node("pi-1");
  ASSERT_TRUE(becomes("pi-1 alive"));
  start();
  EXPECT_EQ(token.size(), 32u) << dashboard->out();
  EXPECT_EQ(ask(get("/")).status, 200);
  EXPECT_EQ(ask(get("/api/v1/session")).status, 401);
  EXPECT_EQ(json::parse(ask(get("/api/v1/session", shown())).body)["role"], "admin");
  EXPECT_EQ(json::parse(ask(get("/api/v1/cluster", shown())).body)["nodes"][0]["name"], "pi-1");

  const RawReply refused = ask(post("/api/v1/jobs", R"({"keys": {"data": "glyphs", "batch": 0}})", shown()));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("batch"), std::string::npos) << refused.body;
  for (const char* stolen : {"csv:/etc/passwd", "folder:/etc"}) {
    const RawReply denied = ask(post("/api/v1/jobs", json{{"keys", {{"data", stolen}}}}.dump(), shown()));
    EXPECT_EQ(denied.status, 403) << stolen << denied.body;
  }
  const RawReply file =
      ask(post("/api/v1/jobs", R"({"keys": {"model": "/etc/some.onnx", "data": "glyphs"}})", shown()));
  EXPECT_EQ(file.status, 400) << file.body;

  const RawReply started = ask(
      post("/api/v1/jobs", R"({"keys": {"model": "mlp-32", "data": "glyphs", "limit": 640, "epochs": 2}})", shown()));
  ASSERT_EQ(started.status, 201) << started.body;
  const std::string id = json::parse(started.body)["id"];
  RawClient stream(port);
  stream.send(get("/api/v1/jobs/" + id + "/stream", shown()));
  EXPECT_EQ(stream.reply(false).headers.at("content-type"), "text/event-stream");
  std::string told;
  for (std::string piece = stream.piece(); !piece.empty(); piece = stream.piece()) told += piece;
  EXPECT_NE(told.find("event: result"), std::string::npos) << told;
  EXPECT_NE(told.find("\"state\":\"done\""), std::string::npos) << told;
  EXPECT_EQ(ask(get("/api/v1/jobs/" + id + "/model", shown())).status, 200);

  dashboard->signal(SIGINT);
  EXPECT_EQ(dashboard->wait(kDashboardLong), 0) << dashboard->err();
}

TEST_F(DashboardCommand, TheFormOffersWhatItsJobsTake) {
  start();
  const json keys = json::parse(ask(get("/api/v1/keys/train", shown())).body)["keys"];
  ASSERT_GT(keys.size(), 20u);
  json values = json::object();
  for (const json& key : keys) {
    EXPECT_FALSE(key["help"].get<std::string>().empty()) << key;
    for (const char* hidden : {"coordinator", "identity", "resume", "data_dir", "testbed"})
      EXPECT_NE(key["name"], hidden) << "of no use, or dangerous, from elsewhere";
    if (key["name"] == "codec") {
      EXPECT_GT(key["choices"].size(), 3u);
    }
  }
}

TEST_F(DashboardCommand, OthersReachItOverHttpsOnly) {
  const Finished refused = run_program({program(), "dashboard", "--coordinator", address, "--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--server-identity"), std::string::npos) << refused.err;
}

TEST_F(DashboardCommand, ACoordinatorServesThePageItself) {
  coordinator->signal(SIGINT);
  EXPECT_EQ(coordinator->wait(kDashboardLong), 0);
  start_secure_coordinator("127.0.0.1:0", folder / "state", {"--dashboard", "127.0.0.1:0"});
  coordinator->wait_until([&] { return coordinator->out().find("its token in ") != std::string::npos; },
                          kDashboardLong);
  const std::string where = after(coordinator->out(), "dashboard on http://127.0.0.1:");
  ASSERT_FALSE(where.empty()) << coordinator->out() << coordinator->err();
  port = std::stoi(where);
  const fs::path file = folder / "state" / "dashboard-token";
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  token = after(text_of(file), "admin ").substr(0, 32);
  EXPECT_EQ(json::parse(ask(get("/api/v1/session", shown())).body)["role"], "admin");
  EXPECT_EQ(ask(get("/api/v1/members", shown())).status, 200);
  EXPECT_EQ(ask(get("/api/v1/members", "Authorization: Bearer 0123456789abcdef\r\n")).status, 401);
}

}  // namespace
}  // namespace mangrove
