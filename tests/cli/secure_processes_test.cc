// Attacks on a cluster of real processes with certificates, and what honest people do on it: docs/security.md lists
// them.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/eventually.h"
#include "tests/base/sanitizer.h"
#include "tests/cli/separate_processes.h"

#include "mangrove/cluster/client.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/identity/join_string.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/identity/store.h"
#include "mangrove/net/credentials.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

using identity::Identity;
using identity::Role;
using nlohmann::json;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::SeparateProcesses;
using testing::TemporaryFolder;
using testing::text_of;

constexpr Seconds kSecuredLong = 200;
constexpr int kSecuredSamples = 5'000;  // a job still runs when something has happened to the cluster, seconds later
constexpr const char* kAuthority = "identity/authority.pem";

/// A coordinator with a state folder, whose user is its admin. Everybody else has a home of his own.
struct Secure : SeparateProcesses {
  void SetUp() override {
    MG_SKIP_IF_SANITIZED("processes in real time; SecureCluster has the same under a sanitizer");
    start_secure_coordinator("127.0.0.1:0", state);
  }

  std::vector<std::string> home_of(const std::string& person) const {
    return {"XDG_CONFIG_HOME=" + (folder / person).string()};
  }
  Finished as_admin(std::vector<std::string> words) const {
    words.insert(words.begin(), program());
    return run_program(std::move(words), kSecuredLong);
  }
  Finished as(const std::string& person, std::vector<std::string> words) const {
    words.insert(words.begin(), program());
    return run_program(std::move(words), kSecuredLong, home_of(person));
  }
  std::unique_ptr<Process> start_as(const std::string& person, std::vector<std::string> words) const {
    words.insert(words.begin(), program());
    return std::make_unique<Process>(std::move(words), home_of(person));
  }
  /// The identity of the user who has started the coordinator.
  fs::path admins_file() const {
    const auto known = identity::IdentityStore(config.path() / "mangrove/identities").of_authority(authority().hash());
    EXPECT_TRUE(known.ok() && known->size() == 1);
    return known.ok() && !known->empty() ? known->front().path : fs::path();
  }
  /// A join string, by the admin.
  std::string string_for(const std::string& role, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{program(), "invite", "--coordinator", address, "--role", role};
    words.insert(words.end(), more.begin(), more.end());
    const Finished invited_one = run_program(words);
    EXPECT_EQ(invited_one.status, 0) << invited_one.err;
    EXPECT_EQ(invited_one.out.find('\n'), invited_one.out.size() - 1) << "the string alone: " << invited_one.out;
    return invited_one.out.substr(0, invited_one.out.find('\n'));
  }
  std::unique_ptr<Process> start_invited(const std::string& name) const {
    return start_as(
        name, {"node", "--join", string_for("node", {"--name", name}), "--listen", "127.0.0.1:0", "--threads", "1"});
  }
  std::vector<std::string> training(const std::string& run, const std::string& epochs = "1",
                                    const std::string& limit = "400") const {
    return {
        "train",   "--model", "lenet",   "--data", "glyphs",    "--coordinator",         address, "--epochs", epochs,
        "--limit", limit,     "--batch", "8",      "--run-dir", (folder / run).string(), "--json"};
  }
  /// Two epochs of kSecuredSamples.
  std::unique_ptr<Process> start_long_training() const {
    return std::make_unique<Process>(
        std::vector<std::string>{program(), "train", "--model", "lenet", "--data", "glyphs", "--coordinator", address,
                                 "--epochs", "2", "--limit", std::to_string(kSecuredSamples), "--batch", "8",
                                 "--learning-rate", "0.01", "--run-dir", (folder / "run").string(), "--json"});
  }
  bool has_begun(Process& client) const {
    return client.wait_until(
        [&] { return text_of(folder / "run" / "metrics.jsonl").find(R"("phase":"train")") != std::string::npos; },
        kSecuredLong);
  }
  Identity admin() const {
    const identity::IdentityStore store(config.path() / "mangrove" / "identities");
    const auto authority = identity::Authority::parse(text_of(state / kAuthority));
    return store.of_authority(authority->certificate().hash())->at(0).identity;
  }
  identity::Certificate authority() const { return admin().authorities().front(); }

  TemporaryFolder folder;
  fs::path state = folder / "state";
};

/// Refused, with exit status 1 and a sentence that says this.
void expect_refused(const Finished& finished, const std::string& reason, int status = 1) {
  EXPECT_EQ(finished.status, status) << finished.err;
  EXPECT_NE(finished.err.find(reason), std::string::npos) << finished.err;
}

/// One call of a stranger's own making: its status. The message, if there is one, is sent.
grpc::Status call(const std::string& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                  const std::string& method, std::size_t message_bytes = 0) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetSslTargetNameOverride(identity::kServerName);
  grpc::GenericStub stub(grpc::CreateCustomChannel(server, credentials, arguments));
  grpc::CompletionQueue done;
  grpc::ClientContext context;
  context.set_deadline(cluster::from_now(30));
  const grpc::Slice bytes(message_bytes);
  const grpc::ByteBuffer message(&bytes, 1);
  const auto unary = stub.PrepareUnaryCall(&context, method, message, &done);
  unary->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  unary->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(done.Next(&tag, &ok));
  return status;
}

/// The most memory that the process has had, in kB.
long peak_memory(const Process& process) {
  std::ifstream status("/proc/" + std::to_string(process.pid()) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  return -1;
}

// ---- what honest people do

TEST_F(Secure, AJobRunsOnNodesThatWereInvited) {
  EXPECT_EQ(fs::status(state / "identity").permissions(), fs::perms::owner_all);
  for (const char* file : {kAuthority, "identity/coordinator.pem"})
    EXPECT_EQ(fs::status(state / file).permissions(), fs::perms::owner_read | fs::perms::owner_write) << file;
  const auto n1 = start_invited("n1"), n2 = start_invited("n2");
  for (Process* node : {n1.get(), n2.get()}) ASSERT_NE(ready_line(*node), "") << node->err();
  EXPECT_TRUE(ready_line(*n1).starts_with("node n1 ready on ")) << ready_line(*n1);
  const Finished trained = as_admin(training("run"));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(json::parse(trained.out)["workers"], 2);
  // the same board again, without a string
  n1->signal(SIGTERM);
  EXPECT_EQ(n1->wait(kSecuredLong), 0) << n1->err();
  const auto again = start_as("n1", {"node", "--coordinator", address, "--listen", "127.0.0.1:0", "--threads", "1"});
  EXPECT_TRUE(ready_line(*again).starts_with("node n1 ready on ")) << again->err();
}

TEST_F(Secure, TheUserOfTheCoordinatorNeedsNoString) {
  const Process node(
      {program(), "node", "--coordinator", address, "--listen", "127.0.0.1:0", "--name", "own", "--threads", "1"});
  EXPECT_TRUE(becomes("own alive"));
}

TEST_F(Secure, AViewerLooksAClientRunsAndNeitherInvites) {
  const auto node = start_invited("n1");
  ASSERT_NE(ready_line(*node), "") << node->err();
  for (const char* role : {"viewer", "client"}) {
    const Finished joined = as(role, {"join", string_for(role), "--name", role});
    ASSERT_EQ(joined.status, 0) << joined.err;
    const Finished looked = as(role, {"nodes", "--coordinator", address});
    EXPECT_EQ(looked.status, 0) << looked.err;
    EXPECT_EQ(as(role, {"jobs", "--coordinator", address}).status, 0);
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"invite", "--role", "node"}, {"members"}, {"revoke", "n1"}}) {
      std::vector<std::string> more = words;
      more.insert(more.end(), {"--coordinator", address});
      expect_refused(as(role, more), std::string("has the role ") + role);
    }
  }
  expect_refused(as("viewer", training("viewers")), "has the role viewer, which may not do this");
  const auto run = start_as("client", training("clients", "1000"));
  ASSERT_TRUE(run->wait_until(
      [&] { return text_of(folder / "clients" / "metrics.jsonl").find("progress") != std::string::npos; },
      kSecuredLong));
  const Finished status = as("viewer", {"top", "--once", "--json", "--coordinator", address});
  const std::string job = json::parse(status.out)["jobs"][0]["id"];
  expect_refused(as("viewer", {"job", "follow", job, "--coordinator", address, "--run-dir", folder / "f"}),
                 "has the role viewer");
  expect_refused(as("viewer", {"switch", "--scheduler", "end", "--coordinator", address}), "has the role viewer");
  run->signal(SIGINT);
  EXPECT_EQ(run->wait(kSecuredLong), 130) << run->err();
}

TEST_F(Secure, ARevokedNodeIsCutAndTheJobGoesOn) {
  const auto n1 = start_invited("n1"), n2 = start_invited("n2");
  for (Process* node : {n1.get(), n2.get()}) ASSERT_NE(ready_line(*node), "") << node->err();
  const auto client = start_long_training();
  ASSERT_TRUE(has_begun(*client)) << client->err();
  const Finished revoked = run_program({program(), "revoke", "n1", "--coordinator", address});
  EXPECT_EQ(revoked.status, 0) << revoked.err;
  EXPECT_EQ(n1->wait(kSecuredLong), 1) << n1->err();
  EXPECT_NE(n1->err().find("n1 was revoked"), std::string::npos) << n1->err();
  ASSERT_EQ(client->wait(kSecuredLong), 0) << client->err();
  EXPECT_EQ(json::parse(client->out())["samples"], 2 * kSecuredSamples) << "the other node has done its share";
  expect_refused(as("n1", {"node", "--coordinator", address, "--listen", "127.0.0.1:0", "--threads", "1"}),
                 "n1 was revoked");
}

TEST_F(Secure, ABoardThatStartsBeforeItsCoordinatorWaitsForIt) {
  const auto n1 = start_invited("n1");
  ASSERT_NE(ready_line(*n1), "") << n1->err();
  n1->signal(SIGTERM);
  EXPECT_EQ(n1->wait(kSecuredLong), 0) << n1->err();
  coordinator->signal(SIGTERM);
  EXPECT_EQ(coordinator->wait(kSecuredLong), 0) << coordinator->err();
  const auto again = start_as("n1", {"node", "--coordinator", address, "--listen", "127.0.0.1:0", "--threads", "1"});
  ASSERT_TRUE(again->wait_until([&] { return again->err().find("trying on") != std::string::npos; }, kSecuredLong))
      << "it has given up: " << again->err();
  start_secure_coordinator(address, state);
  EXPECT_TRUE(ready_line(*again).starts_with("node n1 ready on ")) << again->err();
}

TEST_F(Secure, AnotherAuthoritySignsWhileAJobRuns) {
  const auto n1 = start_invited("n1");
  ASSERT_NE(ready_line(*n1), "") << n1->err();
  const std::string out = string_for("node");  // a string of the first one
  const std::string first = authority().hash();
  const auto client = start_long_training();
  ASSERT_TRUE(has_begun(*client)) << client->err();
  const Finished rotated = as_admin({"ca", "rotate", "--coordinator", address, "--json"});
  ASSERT_EQ(rotated.status, 0) << rotated.err;
  EXPECT_NE(json::parse(rotated.out)["authority"], first);
  // members of the one and of the other take part in the job that runs
  const auto n2 = start_as("n2", {"node", "--join", out, "--listen", "127.0.0.1:0", "--threads", "1"});
  const auto n3 = start_invited("n3");
  for (Process* node : {n2.get(), n3.get()}) ASSERT_NE(ready_line(*node), "") << node->err();
  ASSERT_EQ(client->wait(kSecuredLong), 0) << client->err();
  EXPECT_EQ(json::parse(client->out())["samples"], 2 * kSecuredSamples);
  // and in the next, in which nodes talk to each other
  std::vector<std::string> ring = training("ring");
  ring.insert(ring.end(), {"--strategy", "all_reduce", "--nodes", "3"});
  const Finished trained = as_admin(ring);
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(json::parse(trained.out)["workers"], 3);
  expect_refused(as_admin({"ca", "rotate", "--coordinator", address}), "is believed until");
  // after a restart of the coordinator too
  coordinator->signal(SIGTERM);
  ASSERT_EQ(coordinator->wait(kSecuredLong), 0) << coordinator->err();
  start_secure_coordinator(address, state);
  std::vector<std::string> after = training("after");
  after.insert(after.end(), {"--nodes", "3"});
  const Finished trained_after = as_admin(after);
  ASSERT_EQ(trained_after.status, 0) << trained_after.err;
  EXPECT_EQ(json::parse(trained_after.out)["workers"], 3);
}

// ---- join strings

TEST_F(Secure, AJoinStringThatDoesNotWorkSaysWhy) {
  const std::string once = string_for("client");
  ASSERT_EQ(as("anna", {"join", once, "--name", "anna"}).status, 0);
  expect_refused(as("mallory", {"join", once}), "used already, by anna");

  std::string mistyped = once;
  mistyped[10] = mistyped[10] == 'a' ? 'b' : 'a';
  expect_refused(as("bob", {"join", mistyped}), "mistyped or cut short", 2);
  expect_refused(as("bob", {"join", once.substr(0, once.size() - 5)}), "mistyped or cut short", 2);

  const Finished misread = as("bob", {"join", "NG1" + once.substr(3)});
  expect_refused(misread, "begins with MG1", 2);
  EXPECT_EQ(misread.err.find(once.substr(80)), std::string::npos) << "the secret is repeated: " << misread.err;

  const std::string withdrawn = string_for("node");
  const std::string tail = withdrawn.substr(withdrawn.rfind(':') + 1);
  const Finished revoked = run_program({program(), "revoke", tail.substr(0, tail.find('.')), "--coordinator", address});
  ASSERT_EQ(revoked.status, 0) << revoked.err;
  expect_refused(as("pi", {"node", "--join", withdrawn}), "was withdrawn");

  const std::string brief = string_for("client", {"--ttl", "1s"});
  const identity::WallTime late = identity::wall_now() + std::chrono::seconds(2);
  ASSERT_TRUE(eventually([&] { return identity::wall_now() >= late; }));  // by the clock of this machine
  expect_refused(as("bob", {"join", brief}), "has expired on ");

  expect_refused(as("bob", {"join", string_for("node")}), "invites a node, not a client");
  expect_refused(as("bob", {"node", "--join", string_for("client")}), "invites a client, not a node");
}

TEST_F(Secure, AJoinStringSaysTheAddressThatItIsTold) {
  const std::string told = string_for("node", {"--address", "edge.local:7070"});
  const auto parsed = identity::JoinString::parse(told);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->address, "edge.local:7070");
  EXPECT_EQ(identity::JoinString::parse(string_for("node"))->address, address);
  const std::vector<std::string> words{"invite", "--coordinator", address, "--role", "node"};
  EXPECT_NE(as_admin(words).err.find("which this machine alone reaches"), std::string::npos);
  std::vector<std::string> wrong = words;
  wrong.insert(wrong.end(), {"--address", "nowhere"});
  expect_refused(as_admin(wrong), "expected HOST:PORT", 2);
}

TEST_F(Secure, AnImpostorHearsNothing) {
  const std::string string = string_for("node");
  Process other({program(), "coordinator", "--listen", "127.0.0.1:0", "--state", folder / "other"}, home_of("other"));
  const std::string there = after(ready_line(other), "coordinator ready on ");
  ASSERT_FALSE(there.empty()) << other.err();
  expect_refused(as("pi", {"node", "--join", string, "--coordinator", there}),
                 "of another cluster than the join string");
  EXPECT_EQ(other.err().find("joining"), std::string::npos) << "it was told something: " << other.err();
  // nor does somebody who is a member of the one cluster say anything to the other
  ASSERT_EQ(as("anna", {"join", string_for("client")}).status, 0);
  expect_refused(as("anna", {"nodes", "--coordinator", there}), "there is none here");
}

// ---- strangers

TEST_F(Secure, AStrangerIsRefusedOnEveryPort) {
  const auto node = start_invited("n1");
  const std::string at_node = after(ready_line(*node), "ready on ");
  ASSERT_FALSE(at_node.empty()) << node->err();
  const Identity false_one =
      Identity::make(identity::Authority::make(identity::wall_now()), {Role::admin, "admin"}, identity::wall_now());
  // shows a certificate of its own authority, to servers that it would take
  const auto mixed = Identity::parse(false_one.key().pem() + false_one.certificate().pem() + authority().pem());
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  const auto shown = net::Credentials::of(*mixed);
  const std::vector<Role> servers{Role::coordinator, Role::node};
  const auto plain = grpc::InsecureChannelCredentials();
  const auto nameless = net::stranger_credentials(authority(), servers);
  const auto forged = net::channel_credentials(shown.get(), servers);
  for (const char* method :
       {"/mangrove.cluster.Cluster/ListNodes", "/mangrove.cluster.Cluster/ListJobs", "/mangrove.cluster.Cluster/GetJob",
        "/mangrove.cluster.Cluster/RunJob", "/mangrove.cluster.Cluster/Join", "/mangrove.cluster.Cluster/PushFrames",
        "/mangrove.cluster.Cluster/SwitchScheduler", "/mangrove.cluster.Enrolment/Invite",
        "/mangrove.cluster.Enrolment/ListMembers", "/mangrove.cluster.Enrolment/Revoke",
        "/mangrove.cluster.Enrolment/Renew", "/mangrove.net.Peer/Exchange"}) {
    EXPECT_EQ(call(address, nameless, method).error_code(), grpc::StatusCode::PERMISSION_DENIED) << method;
    for (const auto& credentials : {plain, forged})
      EXPECT_EQ(call(address, credentials, method).error_code(), grpc::StatusCode::UNAVAILABLE) << method;
  }
  for (const auto& credentials : {plain, nameless, forged})
    EXPECT_EQ(call(at_node, credentials, "/mangrove.net.Peer/Exchange").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(becomes("n1 alive"));
}

TEST_F(Secure, ANodesCertificateIsNoClients) {
  const auto node = start_invited("n1");
  ASSERT_NE(ready_line(*node), "") << node->err();
  const identity::IdentityStore store(folder / "n1" / "mangrove" / "identities");
  const auto known = store.of_authority(authority().hash());
  ASSERT_TRUE(known.ok() && known->size() == 1);
  const std::string file = known->front().path;
  expect_refused(as("n1", {"nodes", "--coordinator", address, "--identity", file}), "has the role node");
  std::vector<std::string> words = training("run");
  words.insert(words.end(), {"--identity", file});
  expect_refused(as("n1", words), "has the role node");
  // and a person's is no node's
  expect_refused(run_program({program(), "node", "--coordinator", address, "--listen", "127.0.0.1:0", "--threads", "1",
                              "--identity", admins_file()}),
                 "has the role admin");
}

TEST_F(Secure, AStrangersLongMessageTakesNoMemory) {
  const auto nameless = net::stranger_credentials(authority(), {Role::coordinator});
  const std::string enrol = "/mangrove.cluster.Enrolment/Enrol", list = "/mangrove.cluster.Cluster/ListNodes";
  for (const std::string& method : {enrol, list}) EXPECT_FALSE(call(address, nameless, method).ok());
  const long before = peak_memory(*coordinator);
  ASSERT_GT(before, 0);
  for (const std::string& method : {enrol, list}) EXPECT_FALSE(call(address, nameless, method, 256U << 20U).ok());
  EXPECT_LT(peak_memory(*coordinator) - before, 32'000) << "kB";
}

TEST_F(Secure, AJobReadsNoFilesThatTheNodesOwnerHasNotOpened) {
  const auto node = start_invited("n1");
  ASSERT_NE(ready_line(*node), "") << node->err();
  // not by `mangrove train`, which reads such a file itself where it is, and is refused by nobody
  const auto own = net::Credentials::load(admins_file());
  ASSERT_TRUE(own.ok()) << own.error().message;
  const auto client = cluster::Client::connect(address, *own);
  ASSERT_TRUE(client.ok()) << client.error().message;
  for (const char* data : {"csv:/etc/passwd", "csv:../../../../../../etc/passwd"}) {
    cluster::JobSpec job;
    job.mutable_train()->set_model(encode_onnx(zoo::build_model("mlp", {.classes = 10}).value()));
    job.mutable_train()->set_data(data);
    const Status refused = (*client)->run(job, nullptr, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("is not open to jobs"), std::string::npos) << refused.error().message;
    EXPECT_EQ(refused.error().message.find("root:"), std::string::npos) << refused.error().message;
  }
}

// Members may make nobody hold more than the room for what has not come to its end, whatever they call.
TEST_F(Secure, AMembersLongMessageTakesNoMoreThanTheRoomForIt) {
  coordinator->signal(SIGTERM);
  ASSERT_EQ(coordinator->wait(kSecuredLong), 0) << coordinator->err();
  start_secure_coordinator("127.0.0.1:0", state, {"--max-model", "16MiB"});
  const auto node = start_invited("n1");
  ASSERT_NE(ready_line(*node), "") << node->err();
  const auto own = net::Credentials::of(admin());
  const auto shown = net::channel_credentials(own.get(), {Role::coordinator});
  const std::string run = "/mangrove.cluster.Cluster/RunJob", list = "/mangrove.cluster.Cluster/ListNodes";
  for (const std::string& method : {run, list}) call(address, shown, method);
  const long before = peak_memory(*coordinator);
  ASSERT_GT(before, 0);
  for (const std::string& method : {run, list}) EXPECT_FALSE(call(address, shown, method, 512U << 20U).ok()) << method;
  EXPECT_LT(peak_memory(*coordinator) - before, 130'000) << "kB";
  EXPECT_TRUE(becomes("n1 alive"));
  const Finished trained = as_admin(training("run"));
  EXPECT_EQ(trained.status, 0) << trained.err;
}

TEST_F(Secure, AKeyThatOthersMayReadIsRefused) {
  const fs::path file = admins_file();
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  expect_refused(run_program({program(), "nodes", "--coordinator", address}), "run: chmod 600 " + file.string());
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(run_program({program(), "nodes", "--coordinator", address}).status, 0);
  coordinator->signal(SIGTERM);
  EXPECT_EQ(coordinator->wait(kSecuredLong), 0);
  fs::permissions(state / kAuthority, fs::perms::others_read, fs::perm_options::add);
  expect_refused(run_program({program(), "coordinator", "--listen", "127.0.0.1:0", "--state", state}), "chmod 600");
}

TEST_F(Secure, NoKeyComesIntoACoreDump) {
  std::ifstream limits("/proc/" + std::to_string(coordinator->pid()) + "/limits");
  std::string soft;
  for (std::string line; std::getline(limits, line);)
    if (line.starts_with("Max core file size")) std::istringstream(line.substr(18)) >> soft;
  EXPECT_EQ(soft, "0");
}

// ---- without certificates

TEST(WithoutCertificates, ListensOnThisMachineAlone) {
  const Finished refused = run_program({program(), "coordinator", "--listen", "0.0.0.0:0", "--state", "none"});
  expect_refused(refused, "--insecure");
  Process open({program(), "coordinator", "--listen", "0.0.0.0:0", "--insecure", "--state", "none"});
  open.wait_until([&] { return !open.out().empty(); }, kSecuredLong);
  EXPECT_NE(open.err().find("is open to everybody who reaches it"), std::string::npos) << open.err();
}

}  // namespace
}  // namespace mangrove
