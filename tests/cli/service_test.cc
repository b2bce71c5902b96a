// Coordinators and nodes as services: their settings files, and what they tell the service manager.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include "tests/base/eventually.h"
#include "tests/cli/separate_processes.h"

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::SeparateProcesses;
using testing::TemporaryFolder;

/// Takes the place of systemd: the socket to which its services write.
class ServiceManager {
 public:
  ServiceManager() : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = (folder_ / "notify").string();
    MG_CHECK(path.size() < sizeof(address.sun_path));
    path.copy(address.sun_path, path.size());
    MG_CHECK(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  }
  ~ServiceManager() { ::close(socket_); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  std::vector<std::string> environment(Seconds watchdog) const {
    return {"NOTIFY_SOCKET=" + (folder_ / "notify").string(),
            "WATCHDOG_USEC=" + std::to_string(static_cast<long>(watchdog * 1e6))};
  }
  /// The next message that is no sign of life.
  std::string next_event(Seconds within) const {
    std::string message = next(within);
    while (message.starts_with("WATCHDOG")) message = next(within);
    return message;
  }
  /// The next message; "" if none comes within this time.
  std::string next(Seconds within) const {
    const auto whole = static_cast<time_t>(within);
    const timeval patience{.tv_sec = whole,
                           .tv_usec = static_cast<suseconds_t>((within - static_cast<Seconds>(whole)) * 1e6)};
    MG_CHECK(::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
    std::string message(1000, '\0');
    const ssize_t size = ::recv(socket_, message.data(), message.size(), 0);
    message.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return message;
  }

 private:
  const TemporaryFolder folder_;
  const int socket_;
};

constexpr Seconds kServiceLong = 20;

struct Service : SeparateProcesses {
  void SetUp() override {}  // the test starts its coordinator itself
};

TEST_F(Service, SaysThatItIsReadyAliveAndEnding) {
  const ServiceManager manager;
  Process service({program(), "coordinator", "--state", "none", "--listen", "127.0.0.1:0"}, manager.environment(0.4));
  EXPECT_EQ(manager.next(kServiceLong), "STATUS=reading its state");
  EXPECT_EQ(manager.next_event(kServiceLong), "READY=1\nSTATUS=nodes: 0");
  EXPECT_TRUE(ready_line(service).starts_with("coordinator ready on ")) << "said before";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.next(kServiceLong), "WATCHDOG=1\nSTATUS=nodes: 0");
  service.signal(SIGSTOP);
  while (!manager.next(0.6).empty()) {
  }  // what it had sent before
  EXPECT_EQ(manager.next(1), "") << "no sign of life of a service that hangs";
  service.signal(SIGCONT);
  EXPECT_EQ(manager.next(kServiceLong), "WATCHDOG=1\nSTATUS=nodes: 0");
  service.signal(SIGTERM);
  EXPECT_EQ(manager.next_event(kServiceLong), "STOPPING=1\nSTATUS=ending");
  EXPECT_EQ(manager.next(0.5), "") << "nothing after that";
  EXPECT_EQ(service.wait(kServiceLong), 0) << service.err();
}

struct ServiceHealth : SeparateProcesses {
  Finished health(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{program(), "health", "--file", file};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  bool becomes_healthy(const std::string& text) const {
    return eventually([&] { return health().out == text; }, kServiceLong);
  }

  const std::string file = config / "health";
};

TEST_F(ServiceHealth, OfANodeFollowsItFromItsStartToItsEnd) {
  const std::string there = address;
  coordinator.reset();
  EXPECT_EQ(health().status, 1) << "nothing runs";
  Process node({program(), "node", "--coordinator", there, "--name", "board", "--join-timeout", "60s"},
               {"MANGROVE_HEALTH_FILE=" + file});
  ASSERT_TRUE(becomes_healthy("node is alive, not ready: looking for the coordinator\n")) << health().err;
  EXPECT_EQ(health({"--ready"}).status, 1);
  EXPECT_EQ(health({"--ready"}).err, "mangrove: node is not ready: looking for the coordinator\n");
  start_coordinator(there);
  ASSERT_TRUE(becomes_healthy("node is ready: board is a node of " + there + "\n")) << health().err;
  EXPECT_EQ(health({"--ready"}).status, 0);
  coordinator.reset();
  ASSERT_TRUE(becomes_healthy("node is alive, not ready: board has lost " + there + "\n")) << health().err;
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait(kServiceLong), 0) << node.err();
  EXPECT_EQ(health().status, 1) << "it has ended";
}

// Whoever works in a container has the environment of its main process.
TEST_F(ServiceHealth, StaysThatOfTheProcessThatKeptItFirst) {
  const std::vector<std::string> same{"MANGROVE_HEALTH_FILE=" + file};
  const Process first({program(), "coordinator", "--state", "none", "--listen", "127.0.0.1:0"}, same);
  ASSERT_TRUE(becomes_healthy("coordinator is ready: nodes: 0\n")) << health().err;
  const Finished training = run_program({program(), "train", "--model", "mlp", "--data", "glyphs", "--limit", "100",
                                         "--epochs", "1", "--local", "1", "--quiet", "--run-dir", config / "run"},
                                        60, same);
  EXPECT_EQ(training.status, 0) << training.err;
  EXPECT_EQ(health({"--ready"}).out, "coordinator is ready: nodes: 0\n") << health().err;
}

TEST_F(ServiceHealth, WorksWithAWrongConfiguration) {
  fs::create_directories(config / "mangrove");
  std::ofstream(config / "mangrove/config.yaml") << "nonsense: 1\n";
  const Finished absent = health();
  EXPECT_EQ(absent.status, 1);
  EXPECT_NE(absent.err.find("is not there"), std::string::npos) << absent.err;
}

TEST_F(ServiceHealth, NeedsAFile) {
  const Finished nameless = run_program({program(), "health"}, kServiceLong, {"MANGROVE_HEALTH_FILE="});
  EXPECT_EQ(nameless.status, 2);
  EXPECT_NE(nameless.err.find("--file"), std::string::npos) << nameless.err;
}

struct ServiceSettings : SeparateProcesses {
  std::string write(const std::string& text) const {
    const fs::path path = config / "service.yaml";
    std::ofstream(path) << text;
    return path.string();
  }
};

TEST_F(ServiceSettings, ComeFromAFileAndFlagsWin) {
  const ServiceManager manager;
  const std::string file = write("coordinator: " + address + "\nname: board\nthreads: 1\nlisten: 127.0.0.1:0\n");
  const Process first({program(), "node", "--config", file}, manager.environment(60));
  EXPECT_EQ(manager.next(kServiceLong), "STATUS=looking for the coordinator");
  EXPECT_EQ(manager.next_event(kServiceLong), "READY=1\nSTATUS=board is a node of " + address);
  EXPECT_TRUE(becomes("board alive"));
  const Process second({program(), "node", "--config", file, "--name", "other"});
  EXPECT_TRUE(becomes("board alive, other alive"));
}

TEST_F(ServiceSettings, APersonsDefaultsDoNotWinOverTheFile) {
  fs::create_directories(config / "mangrove");
  std::ofstream(config / "mangrove/config.yaml") << "coordinator: 127.0.0.1:1\n";
  const Process node({program(), "node", "--config", write("coordinator: " + address + "\nname: board\n")});
  EXPECT_TRUE(becomes("board alive"));
}

TEST_F(ServiceSettings, MistakesEndTheServiceWithStatusTwo) {
  const std::string file = write("# mine\nlisten: 127.0.0.1:0\nheartbeat_intervall: 1s\n");
  const Finished coordinator_run = run_program({program(), "coordinator", "--config", file});
  EXPECT_EQ(coordinator_run.status, 2);
  EXPECT_EQ(coordinator_run.err,
            "mangrove: " + file + ":3: unknown key 'heartbeat_intervall'; did you mean 'heartbeat_interval'?\n");
  const Finished missing = run_program({program(), "node", "--config", "/not/there.yaml"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("/not/there.yaml"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace mangrove
