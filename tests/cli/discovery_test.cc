// Joining a coordinator that is found on the local network: two machines, each a network namespace with an Avahi
// daemon, joined by a cable.
#include "mangrove/cluster/discovery.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <set>

#include "tests/base/sanitizer.h"
#include "tests/cli/separate_processes.h"

#include "mangrove/identity/join_string.h"
#include "mangrove/testbed/tool.h"

namespace mangrove {
namespace {

using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::text_of;

constexpr Seconds kDiscoveryLong = 60;
constexpr const char* kAvahi = "/usr/sbin/avahi-daemon";
constexpr const char* kBus = "/usr/bin/dbus-daemon";

/// A machine of its own on the network: what one starts there sees its own interfaces, message bus and Avahi daemon.
class Machine {
 public:
  Machine(const std::string& name, std::string address, fs::path folder)
      : name_(name),
        space_("mgd" + std::to_string(getpid() % 100000) + name),
        address_(std::move(address)),
        folder_(std::move(folder)) {}
  ~Machine() {
    avahi_.reset();
    bus_.reset();
    (void)testbed::run_tool("ip netns del " + space_).ok();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const std::string& space() const { return space_; }
  const std::string& address() const { return address_; }
  std::string bus_address() const { return "unix:path=" + (folder_ / "bus").string(); }

  /// Once its interface is there.
  void start_services() {
    for (const std::string& command : {"ip -n " + space_ + " addr add " + address_ + "/24 dev eth0",
                                       "ip -n " + space_ + " link set lo up", "ip -n " + space_ + " link set eth0 up"})
      ASSERT_TRUE(testbed::run_tool(command).ok()) << command;
    fs::create_directories(folder_);
    ASSERT_TRUE(
        write_file_atomically(folder_ / "bus.conf",
                              "<busconfig><listen>" + bus_address() +
                                  "</listen><auth>EXTERNAL</auth><policy context=\"default\"><allow user=\"*\"/>"
                                  "<allow own=\"*\"/><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>"
                                  "</policy></busconfig>")
            .ok());
    ASSERT_TRUE(write_file_atomically(folder_ / "avahi.conf", "[server]\nhost-name=" + name_ + "\n").ok());
    fs::remove(folder_ / "bus");  // of an earlier test
    bus_ = std::make_unique<Process>(
        std::vector<std::string>{kBus, "--config-file=" + (folder_ / "bus.conf").string(), "--nofork", "--nopidfile"});
    ASSERT_TRUE(bus_->wait_until([&] { return fs::exists(folder_ / "bus"); }, kDiscoveryLong)) << bus_->err();
    start_avahi();
  }
  /// It keeps its process id at a fixed place, which each machine has for itself.
  void start_avahi() {
    avahi_ =
        start({"/bin/sh", "-c",
               "mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && exec " + std::string(kAvahi) +
                   " --no-drop-root --no-chroot --no-rlimits --no-proc-title -f " + (folder_ / "avahi.conf").string()});
    ASSERT_TRUE(avahi_->wait_until([&] { return avahi_->err().find("Server startup complete") != std::string::npos; },
                                   kDiscoveryLong))
        << avahi_->err();
  }
  void stop_avahi() {
    avahi_->signal(SIGTERM);
    EXPECT_EQ(avahi_->wait(kDiscoveryLong), 0) << avahi_->err();
  }

  std::unique_ptr<Process> start(const std::vector<std::string>& command, const std::string& person = "") const {
    return std::make_unique<Process>(here(command), environment(person));
  }
  /// `mangrove`, by a person with a home of his own; "": the admin.
  std::unique_ptr<Process> start_mangrove(std::vector<std::string> words, const std::string& person = "") const {
    words.insert(words.begin(), program());
    return start(words, person);
  }
  Finished run_mangrove(std::vector<std::string> words, const std::string& person = "") const {
    words.insert(words.begin(), program());
    return run_program(here(words), kDiscoveryLong, environment(person));
  }

 private:
  std::vector<std::string> here(const std::vector<std::string>& command) const {
    std::vector<std::string> words{"/bin/sh", "-c",  "PATH=$PATH:/usr/sbin:/sbin; exec \"$@\"", "tool", "ip", "netns",
                                   "exec",    space_};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  std::vector<std::string> environment(const std::string& person) const {
    std::vector<std::string> variables{"DBUS_SYSTEM_BUS_ADDRESS=" + bus_address()};
    if (!person.empty()) variables.push_back("XDG_CONFIG_HOME=" + (folder_ / person).string());
    return variables;
  }

  const std::string name_, space_, address_;
  const fs::path folder_;
  std::unique_ptr<Process> bus_, avahi_;
};

struct TwoMachines : testing::SeparateProcesses {
  void SetUp() override {
    MG_SKIP_IF_SANITIZED("processes in real time");
    if (const std::string reason = why_no_machines(); !reason.empty()) GTEST_SKIP() << reason;
    for (Machine* machine : {&left, &right}) {
      ASSERT_NO_FATAL_FAILURE(machine->start_services());
    }
  }

  /// Why there are none: "" if they are there, with a cable between them.
  std::string why_no_machines() const {
    if (geteuid() != 0) return "network namespaces: needs root";
    for (const char* needed : {kAvahi, kBus})
      if (!fs::exists(needed)) return std::string(needed) + " is not installed";
    for (const std::string& command :
         {"ip netns add " + left.space(), "ip netns add " + right.space(),
          "ip link add name eth0 netns " + left.space() + " type veth peer name eth0 netns " + right.space()})
      if (const auto done = testbed::run_tool(command); !done.ok())
        return "network namespaces and links: " + done.error().message;
    return "";
  }

  /// On the left machine.
  std::unique_ptr<Process> start_coordinator_at(const std::string& listen, const std::string& folder,
                                                const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"coordinator",          "--listen", listen, "--state", config / folder,
                                   "--heartbeat-interval", "200ms"};
    words.insert(words.end(), more.begin(), more.end());
    auto process = left.start_mangrove(words);
    EXPECT_NE(ready_line(*process), "") << process->err();
    return process;
  }
  static bool is_announced(Process& announcer) {
    return announcer.wait_until(
        [&] { return announcer.err().find("announced on the local network") != std::string::npos; }, kDiscoveryLong);
  }
  /// A join string of the coordinator at this port, with this address in it.
  std::string string_with(const std::string& stated, int port = 7070, const std::string& role = "node") const {
    const Finished made = left.run_mangrove(
        {"invite", "--coordinator", left.address() + ":" + std::to_string(port), "--role", role, "--address", stated});
    EXPECT_EQ(made.status, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  static std::vector<std::string> node_with(const std::string& string) {
    return {"node", "--join", string, "--name", "n1", "--threads", "1"};
  }

  static constexpr const char* kNobodysAddress = "10.91.7.1:7079";  // of the left machine, where nobody listens
  Machine left{"left", "10.91.7.1", config / "left"}, right{"right", "10.91.7.2", config / "right"};
};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(TwoMachines, ANodeFindsTheCoordinatorOfItsStringWhereNobodyAnswersAtTheAddress) {
  const auto coordinator_process = start_coordinator_at("0.0.0.0:7070", "state");
  ASSERT_TRUE(is_announced(*coordinator_process)) << coordinator_process->err();
  const auto node = right.start_mangrove(node_with(string_with(kNobodysAddress)), "n1");
  EXPECT_TRUE(ready_line(*node).starts_with("node n1 ready on 10.91.7.2:")) << node->err();
  EXPECT_TRUE(
      says(node->err(), "found the coordinator of this cluster address=10.91.7.1:7070 instead_of=10.91.7.1:7079"))
      << node->err();
}

TEST_F(TwoMachines, APersonJoinsWithAStringThatHasNoAddress) {
  const auto coordinator_process = start_coordinator_at("10.91.7.1:7070", "state");
  ASSERT_TRUE(is_announced(*coordinator_process)) << coordinator_process->err();
  const Finished joined = right.run_mangrove({"join", string_with("none", 7070, "viewer"), "--name", "eve"}, "eve");
  EXPECT_EQ(joined.status, 0) << joined.err;
  EXPECT_TRUE(says(joined.out, "joined the cluster of 10.91.7.1:7070 as the viewer eve")) << joined.out;
}

TEST_F(TwoMachines, WhoeverElseAnnouncesTheClusterIsToldNothing) {
  const auto genuine = start_coordinator_at("0.0.0.0:7070", "state", {"--no-announce"});
  const auto impostor = start_coordinator_at("0.0.0.0:7072", "impostor", {"--no-announce"});
  const std::string string = string_with(kNobodysAddress);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  ::setenv("DBUS_SYSTEM_BUS_ADDRESS", left.bus_address().c_str(), 1);
  const std::vector<std::string> hashes{identity::JoinString::parse(string)->authority_hash};
  const cluster::Announcement of_impostor({"0.0.0.0", 7072}, hashes), of_nobody({"0.0.0.0", 7078}, hashes);
  std::set<std::string> heard;
  const auto are_heard = [&] { return heard.contains("10.91.7.1:7072") && heard.contains("10.91.7.1:7078"); };
  ASSERT_TRUE(
      cluster::listen_for_coordinators(
          hashes, SteadyClock().after(kDiscoveryLong), [&](const std::string& one) { heard.insert(one); }, are_heard)
          .ok());
  ASSERT_TRUE(are_heard());
  const Finished refused = right.run_mangrove(node_with(string), "n1");
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_TRUE(says(refused.err, "announces itself as this cluster's coordinator, and is not; nothing was said to it"))
      << refused.err;
  EXPECT_TRUE(says(refused.err, "10.91.7.1:7072")) << refused.err;
  EXPECT_TRUE(says(refused.err, "none of those that announce this cluster on the local network is its coordinator"))
      << refused.err;
  const cluster::Announcement of_genuine({"0.0.0.0", 7070}, hashes);
  const auto node = right.start_mangrove(node_with(string), "n1");
  EXPECT_TRUE(ready_line(*node).starts_with("node n1 ready on ")) << node->err();
  EXPECT_TRUE(says(node->err(), "found the coordinator of this cluster address=10.91.7.1:7070")) << node->err();
  EXPECT_FALSE(fs::exists(config / "impostor" / "audit.jsonl")) << text_of(config / "impostor" / "audit.jsonl");
  EXPECT_TRUE(says(text_of(config / "state" / "audit.jsonl"), "n1")) << "the other one's log has it";
}

TEST_F(TwoMachines, ANodeFindsItsCoordinatorWhereAnotherHasTheAddressNow) {
  const auto genuine = start_coordinator_at("0.0.0.0:7070", "state");
  ASSERT_TRUE(is_announced(*genuine)) << genuine->err();
  const auto another = start_coordinator_at("0.0.0.0:7072", "another", {"--no-announce"});
  const std::vector<std::string> words = node_with(string_with("10.91.7.1:7072"));
  for (const char* what : {"the first time", "as a member"}) {
    const auto node = right.start_mangrove(words, "n1");
    EXPECT_TRUE(ready_line(*node).starts_with("node n1 ready on ")) << what << ": " << node->err();
    EXPECT_TRUE(says(node->err(), "instead_of=10.91.7.1:7072")) << what << ": " << node->err();
    EXPECT_TRUE(says(node->err(), "it is of another cluster")) << what << ": " << node->err();
  }
}

TEST_F(TwoMachines, ANodeThatStartsBeforeItsDaemonWaitsForIt) {
  const auto coordinator_process = start_coordinator_at("0.0.0.0:7070", "state");
  ASSERT_TRUE(is_announced(*coordinator_process)) << coordinator_process->err();
  right.stop_avahi();
  std::vector<std::string> words = node_with(string_with("none"));
  words.insert(words.end(), {"--join-timeout", "60s"});
  const auto node = right.start_mangrove(words, "n1");
  ASSERT_TRUE(node->wait_until([&] { return says(node->err(), "trying on"); }, kDiscoveryLong)) << node->err();
  ASSERT_NO_FATAL_FAILURE(right.start_avahi());
  EXPECT_NE(ready_line(*node), "") << node->err();
}

TEST_F(TwoMachines, WhereNobodyAnnouncesTheClusterItEndsInTimeAndSaysWhatWasTried) {
  const auto genuine = start_coordinator_at("0.0.0.0:7070", "state", {"--no-announce"});
  const auto another = start_coordinator_at("0.0.0.0:7072", "another");
  ASSERT_TRUE(is_announced(*another)) << another->err();
  const std::string string = string_with(kNobodysAddress);
  const SteadyClock clock;
  const Instant begin = clock.now();
  const Finished refused = right.run_mangrove(node_with(string), "n1");
  EXPECT_LT(clock.now() - begin, 25);
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_TRUE(says(refused.err, kNobodysAddress)) << refused.err;
  EXPECT_TRUE(says(refused.err, "nobody announces this cluster on the local network (listened for ")) << refused.err;
}

TEST_F(TwoMachines, ACoordinatorThatWasNamedIsNotLookedForElsewhere) {
  const auto coordinator_process = start_coordinator_at("0.0.0.0:7070", "state");
  ASSERT_TRUE(is_announced(*coordinator_process)) << coordinator_process->err();
  std::vector<std::string> words = node_with(string_with("none"));
  words.insert(words.end(), {"--coordinator", kNobodysAddress, "--join-timeout", "5s"});
  const Finished refused = right.run_mangrove(words, "n1");
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_FALSE(says(refused.err, "local network")) << refused.err;
}

TEST_F(TwoMachines, WithoutADaemonJoiningFailsAsItDidAndSaysWhatIsMissing) {
  const auto coordinator_process = start_coordinator_at("0.0.0.0:7070", "state");
  const std::string string = string_with(kNobodysAddress);
  right.stop_avahi();
  const Finished refused = right.run_mangrove(node_with(string), "n1");
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_TRUE(says(refused.err, "no connection")) << refused.err;
  EXPECT_TRUE(says(refused.err, "the local network cannot be searched from here (Avahi: Daemon not running"))
      << refused.err;
}

TEST_F(TwoMachines, ANodeFindsACoordinatorThatHasMoved) {
  auto coordinator_process = start_coordinator_at("0.0.0.0:7070", "state");
  ASSERT_TRUE(is_announced(*coordinator_process)) << coordinator_process->err();
  const auto node = right.start_mangrove(node_with(string_with("10.91.7.1:7070")), "n1");
  ASSERT_NE(ready_line(*node), "") << node->err();
  coordinator_process->signal(SIGTERM);
  ASSERT_EQ(coordinator_process->wait(kDiscoveryLong), 0) << coordinator_process->err();
  coordinator_process = start_coordinator_at("0.0.0.0:7074", "state");
  EXPECT_TRUE(node->wait_until(
      [&] {
        return says(node->err(),
                    "found the coordinator of this cluster address=10.91.7.1:7074 instead_of=10.91.7.1:7070");
      },
      2 * kDiscoveryLong))
      << node->err();
  const auto is_back = [&] { return says(left.run_mangrove({"nodes", "--coordinator", "10.91.7.1:7074"}).out, "n1"); };
  EXPECT_TRUE(node->wait_until(is_back, kDiscoveryLong)) << node->err();
}

TEST_F(TwoMachines, TheAnnouncementFollowsTheDaemonAndTheAuthority) {
  left.stop_avahi();
  const auto coordinator_process = start_coordinator_at("0.0.0.0:7070", "state");
  EXPECT_TRUE(coordinator_process->wait_until(
      [&] { return says(coordinator_process->err(), "no announcement on the local network"); }, kDiscoveryLong));
  ASSERT_NO_FATAL_FAILURE(left.start_avahi());
  const auto times_announced = [&] {
    int times = 0;
    const std::string mark = " announced on the local network";
    for (std::size_t at = 0; (at = coordinator_process->err().find(mark, at)) != std::string::npos; ++at) ++times;
    return times;
  };
  ASSERT_TRUE(coordinator_process->wait_until([&] { return times_announced() == 1; }, kDiscoveryLong))
      << coordinator_process->err();
  left.stop_avahi();
  ASSERT_NO_FATAL_FAILURE(left.start_avahi());
  ASSERT_TRUE(coordinator_process->wait_until([&] { return times_announced() == 2; }, kDiscoveryLong))
      << coordinator_process->err();
  const Finished rotated = left.run_mangrove({"ca", "rotate", "--coordinator", "10.91.7.1:7070"});
  ASSERT_EQ(rotated.status, 0) << rotated.err;
  ASSERT_TRUE(coordinator_process->wait_until([&] { return times_announced() == 3; }, kDiscoveryLong))
      << coordinator_process->err();
  const auto node = right.start_mangrove(node_with(string_with("none")), "n1");
  EXPECT_NE(ready_line(*node), "") << node->err();
}

}  // namespace
}  // namespace mangrove
