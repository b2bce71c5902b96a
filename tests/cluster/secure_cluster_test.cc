#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <limits>
#include <regex>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/fake_node.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/cluster/access.h"
#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/coordinator_identity.h"
#include "mangrove/cluster/enrolment.grpc.pb.h"
#include "mangrove/cluster/enrolment.h"
#include "mangrove/cluster/job_checks.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/net/grpc_status.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::cluster {
namespace {

using identity::Identity;
using identity::IdentityStore;
using identity::JoinString;
using identity::Role;
using identity::Subject;

Deadline soon() {
  return SteadyClock().after(20);
}

/// A coordinator with an authority and books of its own, and its admin.
struct SecureCluster : ::testing::Test {
  SecureCluster() : registrar(std::move(*Registrar::open(folder / "state", identity::wall_now()))) {
    options.listen = "127.0.0.1:0";
    options.heartbeat_interval = TestCluster::kHeartbeat;
    options.registrar = registrar.get();
    options.credentials = *coordinator_credentials(*registrar, admins, identity::wall_now());
    start();
  }
  void start() {
    auto started = Coordinator::start(options);
    ASSERT_TRUE(started.ok()) << started.error().message;
    coordinator = std::move(*started);
    options.listen = coordinator->address();
  }
  Result<std::unique_ptr<Client>> connect(const IdentityStore& store, const std::vector<Role>& roles) const {
    MG_TRY(auto credentials,
           find_credentials({.coordinator = coordinator->address(), .roles = roles}, store, soon(), {}));
    return Client::connect(coordinator->address(), std::move(credentials));
  }
  Identity admin_identity() const {
    return admins.of_authority(registrar->authority().certificate().hash())->at(0).identity;
  }
  std::unique_ptr<Client> admin() const { return std::move(*connect(admins, {Role::admin})); }
  JoinString invite(const std::string& role, const std::string& name = "") const {
    InviteRequest request;
    request.set_role(role);
    request.set_name(name);
    request.set_ttl_s(600);
    request.set_uses(1);
    return *JoinString::parse(admin()->invite(request)->join_string());
  }
  /// Joins, and keeps the identity in a store of its own.
  Result<std::shared_ptr<const net::Credentials>> join(const JoinString& string, const Subject& wished) const {
    const std::vector<Role> roles =
        wished.role == Role::node ? std::vector{Role::node} : std::vector{Role::admin, Role::client, Role::viewer};
    return join_or_find_credentials({.coordinator = string.address, .roles = roles}, string, wished, members, soon(),
                                    {});
  }
  Result<std::unique_ptr<Node>> start_node(std::shared_ptr<const net::Credentials> credentials,
                                           RoleMain play = scripted_role) const {
    NodeOptions node;
    node.coordinator = coordinator->address();
    node.name = "calls itself so";
    node.listen = "127.0.0.1:0";
    node.threads = 1;
    node.credentials = std::move(credentials);
    node.join_timeout = 10;
    node.play = std::move(play);
    return Node::start(node);
  }
  std::string listing() const {
    const auto nodes = admin()->nodes();
    std::string text;
    for (const NodeStatus& node : *nodes)
      text += (text.empty() ? "" : ", ") + node.description().name() + " " + node.state();
    return text;
  }

  testing::TemporaryFolder folder;
  const IdentityStore admins{folder / "admins"}, members{folder / "members"};
  std::unique_ptr<Registrar> registrar;
  CoordinatorOptions options;
  std::unique_ptr<Coordinator> coordinator;
};

Status push_frames(const std::string& coordinator, const std::string& job, const net::Credentials& own) {
  const auto stub = Cluster::NewStub(open_channel(coordinator, &own));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  PushFramesResponse response;
  const auto stream = stub->PushFrames(&context, &response);
  PushedFrame frame;
  frame.set_job_id(job);
  stream->Write(frame);
  stream->WritesDone();
  return net::from_grpc(stream->Finish());
}

TEST_F(SecureCluster, ANodeJoinsWithAStringAndLaterWithout) {
  const JoinString string = invite("node");
  const auto credentials = join(string, {Role::node, "pi"});
  ASSERT_TRUE(credentials.ok()) << credentials.error().message;
  {
    const auto node = start_node(*credentials);
    ASSERT_TRUE(node.ok()) << node.error().message;
    EXPECT_EQ((*node)->name(), "pi") << "the certificate says who it is";
    EXPECT_EQ(listing(), "pi alive");
  }
  const auto again = join(string, {Role::node, "pi"});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->identity().certificate().serial(), (*credentials)->identity().certificate().serial());
  const auto later =
      find_credentials({.coordinator = string.address, .roles = {Role::node}, .name = "pi"}, members, soon(), {});
  ASSERT_TRUE(later.ok()) << later.error().message;
  EXPECT_EQ((*later)->subject(), (Subject{Role::node, "pi"}));
}

TEST_F(SecureCluster, AStringIsUsedOnce) {
  const JoinString string = invite("node");
  ASSERT_TRUE(enrol(string, {Role::node, "pi"}, soon(), {}).ok());
  const auto second = enrol(string, {Role::node, "other"}, soon(), {});
  EXPECT_EQ(second.code(), Code::permission_denied);
  EXPECT_NE(second.error().message.find("used already, by pi"), std::string::npos) << second.error().message;
}

TEST_F(SecureCluster, ALostAnswerDoesNotUseTheStringUp) {
  const JoinString string = invite("node");
  const Subject pi{Role::node, "pi"};
  ASSERT_TRUE(enrol(string, pi, soon(), {}, *members.joining_key(string, pi)).ok());  // and power fails
  const auto again = join(string, pi);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->subject(), pi);
  for (const fs::directory_entry& file : fs::directory_iterator(members.folder()))
    EXPECT_NE(file.path().extension(), ".key") << "the key is in the identity now";
}

TEST_F(SecureCluster, AnotherClusterThanThatOfTheStringHearsNothing) {
  const TestCluster impostor;
  JoinString string = invite("node");
  string.address = impostor.coordinator->address();
  const auto joined = enrol(string, {Role::node, "pi"}, soon(), {});
  EXPECT_EQ(joined.code(), Code::permission_denied);
  EXPECT_NE(joined.error().message.find("another cluster"), std::string::npos) << joined.error().message;
}

TEST_F(SecureCluster, AnImpostorThatShowsTheRightAuthorityIsRefused) {
  // it has a certificate of its own authority, and shows that of the cluster behind it
  const Identity own =
      Identity::make(identity::Authority::make(identity::wall_now()), {Role::coordinator, "c"}, identity::wall_now());
  const auto mixed =
      Identity::parse(own.key().pem() + own.certificate().pem() + registrar->authority().certificate().pem());
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  CoordinatorOptions false_options;
  false_options.listen = "127.0.0.1:0";
  false_options.credentials = net::Credentials::of(*mixed);
  const auto impostor = Coordinator::start(false_options);
  ASSERT_TRUE(impostor.ok()) << impostor.error().message;
  JoinString string = invite("node");
  string.address = (*impostor)->address();
  EXPECT_FALSE(enrol(string, {Role::node, "pi"}, soon(), {}).ok());
  const auto found = find_credentials({.coordinator = string.address, .roles = {Role::admin}}, admins, soon(), {});
  EXPECT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("another certificate authority"), std::string::npos) << found.error().message;
}

TEST_F(SecureCluster, WhoJoinsWithAClockThatIsBehindHearsSo) {
  const JoinString string = invite("node");
  coordinator.reset();
  const identity::WallTime tomorrow = identity::wall_now() + std::chrono::days(1);
  options.credentials =
      net::Credentials::of(Identity::make(registrar->authority(), {Role::coordinator, "coordinator"}, tomorrow));
  start();
  const auto joined = enrol(string, {Role::node, "pi"}, soon(), {});
  EXPECT_EQ(joined.code(), Code::permission_denied);
  EXPECT_NE(joined.error().message.find("is the clock right?"), std::string::npos) << joined.error().message;
}

TEST_F(SecureCluster, ANodeIsNoCoordinator) {
  CoordinatorOptions false_options;
  false_options.listen = "127.0.0.1:0";
  false_options.credentials = *join(invite("node"), {Role::node, "pi"});
  const auto impostor = Coordinator::start(false_options);
  ASSERT_TRUE(impostor.ok()) << impostor.error().message;
  const auto found =
      find_credentials({.coordinator = (*impostor)->address(), .roles = {Role::admin}}, admins, soon(), {});
  EXPECT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("the node pi"), std::string::npos) << found.error().message;
  // nor does the transport believe it
  const auto client = Client::connect((*impostor)->address(), net::Credentials::of(admin_identity()), 1);
  EXPECT_EQ(client.code(), Code::unavailable);
}

TEST_F(SecureCluster, ADeadOrPlainCoordinatorIsToldApart) {
  const std::string address = coordinator->address();
  coordinator.reset();
  const auto dead =
      find_credentials({.coordinator = address, .roles = {Role::admin}}, admins, SteadyClock().after(0.3), {});
  EXPECT_EQ(dead.code(), Code::unavailable);
  EXPECT_NE(dead.error().message.find("mangrove coordinator"), std::string::npos) << dead.error().message;
  options.credentials = nullptr;
  options.registrar = nullptr;
  start();
  const auto plain = find_credentials({.coordinator = address, .roles = {Role::admin}}, admins, soon(), {});
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(*plain, nullptr);
}

TEST_F(SecureCluster, PlainTextIsNotTakenWhereCertificatesWere) {
  const Access access{.coordinator = coordinator->address(), .roles = {Role::admin}};
  ASSERT_TRUE(find_credentials(access, admins, soon(), {}).ok());
  coordinator.reset();
  options.credentials = nullptr;
  options.registrar = nullptr;
  start();
  const auto plain = find_credentials(access, admins, soon(), {});
  EXPECT_EQ(plain.code(), Code::permission_denied);
  EXPECT_NE(plain.error().message.find("the coordinator there had one"), std::string::npos) << plain.error().message;
  Access insecure = access;
  insecure.insecure = true;
  EXPECT_TRUE(find_credentials(insecure, admins, soon(), {}).ok());
  EXPECT_TRUE(find_credentials(access, members, soon(), {}).ok()) << "who has never seen it";
}

TEST_F(SecureCluster, SaysHowToGetAnIdentityWhereThereIsNone) {
  const auto client = connect(members, {Role::client});
  EXPECT_EQ(client.code(), Code::failed_precondition);
  EXPECT_NE(client.error().message.find("mangrove join"), std::string::npos) << client.error().message;
  const auto node = connect(members, {Role::node});
  EXPECT_NE(node.error().message.find("mangrove node --join"), std::string::npos) << node.error().message;
}

TEST_F(SecureCluster, AnAdminsOwnNodesNeedNoString) {
  const auto join_own = [&](const std::string& name) {
    return find_credentials({.coordinator = coordinator->address(), .roles = {Role::node}, .name = name}, admins,
                            soon(), {});
  };
  const auto ann = join_own("ann"), ben = join_own("ben"), again = join_own("ann"), any = join_own("");
  ASSERT_TRUE(ann.ok()) << ann.error().message;
  ASSERT_TRUE(ben.ok() && again.ok() && any.ok());
  EXPECT_EQ((*ann)->subject(), (Subject{Role::node, "ann"}));
  EXPECT_EQ((*ben)->subject(), (Subject{Role::node, "ben"}));
  EXPECT_EQ((*again)->identity().certificate().serial(), (*ann)->identity().certificate().serial());
  EXPECT_EQ((*any)->subject().role, Role::node) << "one that is there";
  // who may not invite gets none
  ASSERT_TRUE(join(invite("client"), {Role::client, "clara"}).ok());
  EXPECT_EQ(connect(members, {Role::node}).code(), Code::failed_precondition);
}

TEST_F(SecureCluster, EachRoleMayDoItsOwnAlone) {
  const auto as = [&](const std::string& role, const Subject& wished) {
    return std::move(*Client::connect(coordinator->address(), *join(invite(role), wished)));
  };
  const auto node = as("node", {Role::node, "pi"});
  const auto viewer = as("viewer", {Role::client, "vera"});
  const auto client = as("client", {Role::client, "clara"});
  JobSpec job;
  job.mutable_train()->set_strategy("none");
  const auto refused = [](const auto& outcome) { return !outcome.ok() && outcome.code() == Code::permission_denied; };
  EXPECT_TRUE(refused(node->nodes()));
  EXPECT_TRUE(refused(node->run(job, nullptr, {})));
  EXPECT_TRUE(refused(node->members()));
  EXPECT_TRUE(viewer->nodes().ok());
  EXPECT_TRUE(refused(viewer->run(job, nullptr, {})));
  EXPECT_TRUE(refused(viewer->switch_scheduler("end")));
  EXPECT_TRUE(client->nodes().ok());
  EXPECT_FALSE(refused(client->run(job, nullptr, {})));
  EXPECT_TRUE(refused(client->members()));
  EXPECT_TRUE(refused(client->revoke("pi")));
  EXPECT_TRUE(refused(client->invite({})));
  EXPECT_TRUE(admin()->members().ok());
  // a person's certificate does not make a node
  const auto false_node = start_node(*join(invite("client"), {Role::client, "carl"}));
  EXPECT_EQ(false_node.code(), Code::permission_denied);
  EXPECT_NE(false_node.error().message.find("has the role client"), std::string::npos) << false_node.error().message;
}

TEST_F(SecureCluster, AJobBelongsToWhoBeganIt) {
  coordinator.reset();
  options.play = scripted_role;
  options.check = [](const JobSpec&) { return Status(); };
  options.state_folder = folder / "jobs";
  start();
  const auto pi = start_node(*join(invite("node"), {Role::node, "pi"}));
  ASSERT_TRUE(pi.ok()) << pi.error().message;
  const auto as = [&](const std::string& name) { return *join(invite("client"), {Role::client, name}); };
  const auto clara = as("clara"), bob = as("bob");
  const auto connected = [&](const auto& who) { return std::move(*Client::connect(coordinator->address(), who)); };
  Status ended;
  std::jthread claras([&] { ended = connected(clara)->run(scripted_job("endless"), nullptr, {}); });
  std::string id;
  ASSERT_TRUE(eventually([&] {
    id = admin()->status({})->job().id();
    return !id.empty();
  }));
  const auto expect_refused = [](const Status& outcome) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.code(), Code::permission_denied) << outcome.error().message;
    EXPECT_NE(outcome.error().message.find("belongs to clara"), std::string::npos) << outcome.error().message;
  };
  expect_refused(connected(bob)->follow(id, nullptr, {}));
  const auto stopped = connected(bob)->stop_job(id, {});
  expect_refused(stopped.ok() ? Status() : Status(stopped.error()));
  const auto switched = connected(bob)->switch_scheduler("end");
  expect_refused(switched.ok() ? Status() : Status(switched.error()));
  expect_refused(push_frames(coordinator->address(), id, *bob));
  EXPECT_EQ(admin()->status({})->job().id(), id) << "it goes on";
  EXPECT_TRUE(connected(clara)->stop_job(id, {}).ok());
  claras.join();
  EXPECT_EQ(ended.code(), Code::cancelled);
  // nor is what it has left another's
  expect_refused(connected(bob)->follow(id, nullptr, {}));
  EXPECT_EQ(connected(clara)->follow(id, nullptr, {}).code(), Code::cancelled);
  EXPECT_EQ(admin()->follow(id, nullptr, {}).code(), Code::cancelled);
  const auto message_for = [&](const auto& client) { return client->jobs()->at(0).message(); };
  EXPECT_NE(message_for(connected(clara)), "");
  EXPECT_EQ(message_for(admin()), message_for(connected(clara)));
  EXPECT_EQ(message_for(connected(bob)), "") << "a node's words may be about the data";
  // all of that can be read afterwards
  const auto audit = read_file(options.state_folder / "audit.jsonl");
  ASSERT_TRUE(audit.ok()) << audit.error().message;
  const auto line = [&](const std::string& who, const std::string& what, const std::string& outcome) {
    return R"("who":"mangrove://client/)" + who + R"(","from":"ipv4:127.0.0.1:)" + "[0-9]+" + R"(","what":")" + what +
           R"(","about":")" + id + R"(","outcome":")" + outcome;
  };
  for (const std::string& expected :
       {line("clara", "run_job", "ok"), line("bob", "follow_job", "permission_denied: the job belongs to clara"),
        line("bob", "switch_scheduler", "permission_denied"), line("bob", "push_frames", "permission_denied"),
        line("clara", "stop_job", "ok")})
    EXPECT_TRUE(std::regex_search(*audit, std::regex(expected))) << expected << " in\n" << *audit;
}

TEST_F(SecureCluster, TheAuditLogSaysWhichCallWasRefusedAndKeepsWhoIsAMember) {
  coordinator.reset();
  options.state_folder = folder / "jobs";
  start();
  const auto bob = std::move(*Client::connect(coordinator->address(), *join(invite("client"), {Role::client, "bob"})));
  EXPECT_FALSE(bob->members().ok());
  EXPECT_FALSE(bob->revoke("bob").ok());
  EXPECT_FALSE(admin()->revoke("nobody").ok());
  EXPECT_TRUE(admin()->revoke("bob").ok());
  const std::string audit = *read_file(options.state_folder / "audit.jsonl");
  for (const char* expected :
       {R"("what":"list","about":"","outcome":"permission_denied)", R"("what":"revoke","about":"","outcome":"perm)",
        R"("what":"revoke","about":"nobody","outcome":"not_found)", R"("what":"revoke","about":"bob","outcome":"ok")"})
    EXPECT_NE(audit.find(expected), std::string::npos) << expected << " in\n" << audit;
  const std::string members_file = *read_file(options.state_folder / "members.jsonl");
  for (const char* expected : {R"("what":"invite")", R"("about":"mangrove://client/bob )", R"("about":"bob")"})
    EXPECT_NE(members_file.find(expected), std::string::npos) << expected << " in\n" << members_file;
  EXPECT_EQ(members_file.find("denied"), std::string::npos);
}

TEST_F(SecureCluster, WithoutACertificateNothingIsAnswered) {
  const auto stranger = net::stranger_credentials(registrar->authority().certificate(), {Role::coordinator});
  const auto stub = Cluster::NewStub(open_channel(coordinator->address(), stranger));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  ListNodesResponse response;
  const Status answer = net::from_grpc(stub->ListNodes(&context, {}, &response));
  EXPECT_EQ(answer.code(), Code::permission_denied);
  EXPECT_NE(answer.error().message.find("mangrove invite"), std::string::npos) << answer.error().message;
  EXPECT_FALSE(Client::connect(coordinator->address(), nullptr, 0.5).ok() &&
               (*Client::connect(coordinator->address(), nullptr, 0.5))->nodes().ok());
}

// Else a stranger could make the coordinator hold a message of a gigabyte.
TEST_F(SecureCluster, AStrangersMessageIsNotWaitedFor) {
  const auto stranger = net::stranger_credentials(registrar->authority().certificate(), {Role::coordinator});
  grpc::GenericStub stub(open_channel(coordinator->address(), stranger));
  for (const char* method : {"/mangrove.cluster.Cluster/ListNodes", "/mangrove.cluster.Enrolment/Invite",
                             "/mangrove.cluster.Cluster/RunJob", "/mangrove.net.Peer/Exchange", "/no/such"}) {
    grpc::CompletionQueue done;
    grpc::ClientContext context;
    context.set_deadline(from_now(20));
    const auto call = stub.PrepareCall(&context, method, &done);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    ASSERT_TRUE(done.Next(&tag, &ok));
    grpc::Status status;
    call->Finish(&status, nullptr);  // without having said anything
    ASSERT_TRUE(done.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method << ": " << status.error_message();
    done.Shutdown();
    while (done.Next(&tag, &ok)) {
    }
  }
}

TEST_F(SecureCluster, ACertificateOfAnotherAuthorityIsNone) {
  const auto client = Client::connect(coordinator->address(), test_credentials(Role::admin, "mallory"), 1);
  EXPECT_FALSE(client.ok() && (*client)->nodes().ok());
}

TEST_F(SecureCluster, ACertificateThatHasExpiredIsRefused) {
  const identity::WallTime then = identity::wall_now() - std::chrono::days(31);
  const Identity old = Identity::make(registrar->authority(), {Role::admin, "old"}, then);
  ASSERT_TRUE(members.save(old).ok());
  const auto found =
      find_credentials({.coordinator = coordinator->address(), .roles = {Role::admin}}, members, soon(), {});
  EXPECT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("expired"), std::string::npos) << found.error().message;
  EXPECT_NE(found.error().message.find("start its coordinator again"), std::string::npos) << found.error().message;
  ASSERT_TRUE(members.save(Identity::make(registrar->authority(), {Role::node, "pi"}, then)).ok());
  const auto node = connect(members, {Role::node});
  EXPECT_NE(node.error().message.find("mangrove invite --role node --name pi"), std::string::npos)
      << node.error().message;
  const auto client = Client::connect(coordinator->address(), net::Credentials::of(old), 1);
  EXPECT_FALSE(client.ok() && (*client)->nodes().ok());
}

TEST_F(SecureCluster, NobodyThrowsANodeOutByRepeatingItsHello) {
  const auto pi = start_node(*join(invite("node"), {Role::node, "pi"}));
  ASSERT_TRUE(pi.ok()) << pi.error().message;
  const auto told = admin()->nodes();
  ASSERT_EQ(told->size(), 1U);
  const auto mallory = *join(invite("node"), {Role::node, "mallory"});
  const auto stub = Cluster::NewStub(open_channel(coordinator->address(), mallory.get()));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  const auto stream = stub->Join(&context);
  FromNode hello;
  *hello.mutable_hello() = told->front().description();
  stream->Write(hello);
  ToNode welcome;
  ASSERT_TRUE(stream->Read(&welcome));
  EXPECT_EQ(welcome.welcome().name(), "mallory") << "whatever it calls itself";
  EXPECT_EQ(listing(), "pi alive, mallory alive");
  context.TryCancel();
  stream->Finish();
}

TEST_F(SecureCluster, ANodeThatSaysWhatCannotBeIsCut) {
  const auto pi = *join(invite("node"), {Role::node, "pi"});
  const auto say = [&](const std::vector<FromNode>& messages) {
    const auto stub = Cluster::NewStub(open_channel(coordinator->address(), pi.get()));
    grpc::ClientContext context;
    context.set_deadline(from_now(20));
    const auto stream = stub->Join(&context);
    for (const FromNode& message : messages) stream->Write(message);
    std::string reason;
    for (ToNode answer; stream->Read(&answer);)
      if (answer.has_rejected()) reason = answer.rejected().reason();
    const grpc::Status status = stream->Finish();
    return status.ok() ? reason : status.error_message();
  };
  FromNode hello, heartbeat;
  hello.mutable_hello()->set_address("127.0.0.1:1");
  heartbeat.mutable_heartbeat()->set_rss_bytes(std::numeric_limits<std::int64_t>::min());
  EXPECT_NE(say({hello, heartbeat}).find("rss_bytes"), std::string::npos);
  hello.mutable_hello()->set_name(std::string(MiB(8), 'n'));
  EXPECT_NE(say({hello}).find("the longest"), std::string::npos);
}

TEST_F(SecureCluster, AJobWithNumbersThatNoJobHasIsRefused) {
  const auto pi = start_node(*join(invite("node"), {Role::node, "pi"}));
  ASSERT_TRUE(pi.ok()) << pi.error().message;
  coordinator.reset();
  options.state_folder = folder / "jobs";
  options.check = check_job;
  options.play = run_role;
  start();
  for (const std::int64_t epochs :
       {std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    JobSpec job;
    job.mutable_train()->set_data("glyphs");
    job.mutable_train()->set_epochs(epochs);
    const Status refused = admin()->run(job, nullptr, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), Code::invalid_argument) << refused.error().message;
    EXPECT_NE(refused.error().message.find("epochs"), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE(admin()->jobs()->empty()) << "nothing of it is kept for the next start";
}

TEST_F(SecureCluster, OneCertificateJoinsSoOftenAndNoMore) {
  coordinator.reset();
  options.heartbeat_misses = 10'000;  // none of them sends any
  start();
  const auto credentials = *join(invite("node"), {Role::node, "pi"});
  const auto stub = Cluster::NewStub(open_channel(coordinator->address(), credentials.get()));
  struct Joined {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<FromNode, ToNode>> stream;
  };
  std::deque<Joined> joined;
  FromNode hello;
  hello.mutable_hello()->set_address("127.0.0.1:1");
  for (int i = 0; i < 65; ++i) {
    Joined& one = joined.emplace_back();
    one.context.set_deadline(from_now(60));
    one.stream = stub->Join(&one.context);
    one.stream->Write(hello);
    ToNode welcome;
    EXPECT_EQ(one.stream->Read(&welcome), i < 64) << i;
  }
  const grpc::Status refused = joined.back().stream->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  joined.pop_back();
  for (Joined& one : joined) one.context.TryCancel();
  for (Joined& one : joined) one.stream->Finish();
}

TEST_F(SecureCluster, ARevokedNodeIsCutAndStaysOut) {
  const auto credentials = *join(invite("node"), {Role::node, "pi"});
  const auto node = start_node(credentials);
  ASSERT_TRUE(node.ok()) << node.error().message;
  ASSERT_EQ(listing(), "pi alive");
  ASSERT_TRUE(admin()->revoke("pi").ok());
  EXPECT_TRUE(eventually([&] { return listing() == "pi lost"; })) << listing();
  const auto again = start_node(credentials);
  EXPECT_EQ(again.code(), Code::permission_denied);
  EXPECT_NE(again.error().message.find("pi was revoked"), std::string::npos) << again.error().message;
}

TEST_F(SecureCluster, AnExpiredCertificateEndsWhatIsOpenUnlessItWasRenewed) {
  const auto make = [&](const std::string& name) {
    return net::Credentials::of(
        Identity::make(registrar->authority(), {Role::node, name}, identity::wall_now(), std::chrono::seconds(8)));
  };
  const auto pi = make("pi"), pa = make("pa");
  const auto left = start_node(pi), stays = start_node(pa);
  ASSERT_TRUE(left.ok()) << left.error().message;
  ASSERT_TRUE(stays.ok()) << stays.error().message;
  const auto late = pa->identity().certificate().valid_to() - std::chrono::seconds(3);
  ASSERT_TRUE(eventually([&] { return identity::wall_now() >= late; }));
  ASSERT_TRUE(renew(coordinator->address(), *pa).ok());
  EXPECT_TRUE(eventually([&] { return listing() == "pi lost, pa alive"; }, 60)) << listing();
  EXPECT_GE(identity::wall_now(), pi->identity().certificate().valid_to()) << "cut before";
  EXPECT_EQ(start_node(pi).code(), Code::unavailable) << "nor does it shake hands";
}

TEST_F(SecureCluster, WhoTakesANameOverPutsTheOldBoardOut) {
  const auto stolen = *join(invite("node"), {Role::node, "pi"});
  const auto node = start_node(stolen);
  ASSERT_TRUE(node.ok()) << node.error().message;
  ASSERT_EQ(listing(), "pi alive");
  const auto enrolled = enrol(invite("node", "pi"), {Role::node, "other"}, soon(), {});
  ASSERT_TRUE(enrolled.ok()) << enrolled.error().message;
  EXPECT_TRUE(eventually([&] { return listing() == "pi lost"; })) << listing();
  const auto replacement = start_node(net::Credentials::of(*enrolled));
  ASSERT_TRUE(replacement.ok()) << replacement.error().message;
  EXPECT_EQ((*replacement)->name(), "pi");
  EXPECT_EQ(start_node(stolen).code(), Code::permission_denied);
}

TEST_F(SecureCluster, ANodeTriesUntilItsCertificateExpires) {
  const Identity brief =
      Identity::make(registrar->authority(), {Role::node, "pi"}, identity::wall_now(), std::chrono::seconds(6));
  const auto node = start_node(net::Credentials::of(brief));
  ASSERT_TRUE(node.ok()) << node.error().message;
  coordinator.reset();
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return (*node)->wait(stop.get_token()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "it tries on";
  stop.request_stop();
  const Status gone = waiting.get();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.code(), Code::unavailable);
  EXPECT_GE(identity::wall_now(), brief.certificate().valid_to()) << "it gave up before";
  EXPECT_NE(gone.error().message.find("has expired"), std::string::npos) << gone.error().message;
}

/// The job's answer is what rank 1 says first. Rank 0 asks when it may.
struct Question {
  RoleMain role() {
    return [this](const JobSpec&, job::RoleContext& context) -> Status {
      if (context.endpoint.rank() != 0) {
        MG_RETURN_IF_ERROR(context.endpoint.recv({0}, 1, soon()));
        context.endpoint.send(0, 2, "honest");
        const auto end = context.endpoint.recv({0}, 3, soon());  // of the job
        return end.ok() ? Status() : Status(end.error());
      }
      has_begun.set_value();
      may_ask.get_future().wait_for(std::chrono::seconds(20));
      context.endpoint.send(1, 1, "?");
      MG_TRY(const net::Message answer, context.endpoint.recv({1}, 2, soon()));
      context.report(
          {.kind = ReportKind::result, .json = R"({"answer":")" + answer.payload + R"("})", .attachment = {}});
      return {};
    };
  }
  std::promise<void> has_begun, may_ask;
};

/// Sends one message of a job as if it came from rank 1; returns when rank 0's process has dealt with it.
grpc::Status send_forged(const std::string& address, const std::string& job, const net::Credentials& own) {
  const auto stub =
      net::Peer::NewStub(open_channel(address, net::channel_credentials(&own, {Role::node, Role::coordinator})));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  context.AddMetadata("mangrove-link", "0123456789abcdef");
  const auto stream = stub->Exchange(&context);
  net::Envelope envelope;
  envelope.set_job(job);
  envelope.set_from(1);
  envelope.set_to(0);
  envelope.set_tag(2);
  envelope.set_sequence(1);
  envelope.set_payload("forged");
  stream->Write(envelope);
  stream->WritesDone();
  for (net::Receipt receipt; stream->Read(&receipt);) {
  }
  return stream->Finish();
}

/// A stream for messages of jobs to a process of the cluster, with nothing on it yet.
struct PeerStream {
  PeerStream(const std::string& address, const net::Credentials& own)
      : stub(net::Peer::NewStub(
            open_channel(address, net::channel_credentials(&own, {Role::node, Role::coordinator})))) {
    context.set_deadline(from_now(20));
    context.AddMetadata("mangrove-link", "fedcba9876543210");
    stream = stub->Exchange(&context);
    stream->WaitForInitialMetadata();
  }
  std::unique_ptr<net::Peer::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<net::Envelope, net::Receipt>> stream;
};

TEST_F(SecureCluster, ARevokedMemberSendsNoMessagesOfJobs) {
  const auto mallory = *join(invite("node"), {Role::node, "mallory"});
  const auto before = start_node(*join(invite("node"), {Role::node, "pi"}));
  ASSERT_TRUE(before.ok()) << before.error().message;
  PeerStream to_node((*before)->address(), *mallory), to_coordinator(coordinator->address(), *mallory);
  ASSERT_TRUE(admin()->revoke("mallory").ok());
  const auto after = start_node(*join(invite("node"), {Role::node, "pa"}));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(to_node.stream->Finish().error_code(), grpc::StatusCode::CANCELLED) << "open before";
  EXPECT_EQ(to_coordinator.stream->Finish().error_code(), grpc::StatusCode::CANCELLED) << "open before";
  for (const std::string& address : {coordinator->address(), (*before)->address(), (*after)->address()}) {
    const bool refused = eventually(
        [&] { return send_forged(address, "job", *mallory).error_code() == grpc::StatusCode::PERMISSION_DENIED; });
    EXPECT_TRUE(refused) << address;
  }
}

/// What a node is told about a job that it asks for.
Status get_job(const std::string& coordinator, const std::string& job, const net::Credentials& own) {
  const auto stub = Cluster::NewStub(open_channel(coordinator, &own));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  GetJobRequest request;
  request.set_job_id(job);
  JobSpec spec;
  return net::from_grpc(stub->GetJob(&context, request, &spec));
}

TEST_F(SecureCluster, AMemberNeitherGetsTheJobOfOthersNorSpeaksForTheirRanks) {
  Question question;
  coordinator.reset();
  options.play = question.role();
  options.check = [](const JobSpec&) { return Status(); };
  start();
  const auto mallory = *join(invite("node"), {Role::node, "mallory"});
  const auto pi = start_node(*join(invite("node"), {Role::node, "pi"}), question.role());
  ASSERT_TRUE(pi.ok()) << pi.error().message;
  std::string answer;
  Status ended;
  std::jthread job([&] {
    ended = admin()->run(scripted_job("question"),
                         [&](const Report& report) {
                           if (report.kind == ReportKind::result) answer = report.json;
                         },
                         {});
  });
  ASSERT_EQ(question.has_begun.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const auto status = admin()->status({});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(get_job(coordinator->address(), status->job().id(), *mallory).code(), Code::permission_denied);
  const grpc::Status sent = send_forged(coordinator->address(), status->job().id(), *mallory);
  EXPECT_TRUE(sent.ok()) << sent.error_message();
  question.may_ask.set_value();
  job.join();
  EXPECT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_NE(answer.find(R"("answer":"honest")"), std::string::npos) << answer;
}

TEST_F(SecureCluster, AnIdentityThatIsDueIsRenewedWhereItIsUsed) {
  const identity::WallTime then = identity::wall_now() - std::chrono::days(23);
  const fs::path file = *members.save(Identity::make(registrar->authority(), {Role::client, "anna"}, then));
  ASSERT_TRUE(connect(members, {Role::client}).ok());
  const Identity renewed = *Identity::load(file);
  EXPECT_EQ(renewed.subject(), (Subject{Role::client, "anna"}));
  EXPECT_FALSE(renewed.is_due_for_renewal(identity::wall_now()));
  EXPECT_TRUE((*connect(members, {Role::client}))->nodes().ok());
}

TEST_F(SecureCluster, ANodeRenewsItsCertificateWhileItRuns) {
  const identity::WallTime then = identity::wall_now() - std::chrono::days(23);
  const fs::path file = *members.save(Identity::make(registrar->authority(), {Role::node, "pi"}, then));
  const auto node = start_node(*net::Credentials::load(file));
  ASSERT_TRUE(node.ok()) << node.error().message;
  const auto is_renewed = [&] { return !Identity::load(file)->is_due_for_renewal(identity::wall_now()); };
  EXPECT_TRUE(eventually(is_renewed));
  EXPECT_EQ(listing(), "pi alive");
}

TEST_F(SecureCluster, TheCoordinatorRenewsItsOwn) {
  const fs::path file = registrar->folder() / "coordinator.pem";
  const identity::WallTime then = identity::wall_now() - std::chrono::days(23);
  const Identity old = Identity::make(registrar->authority(), {Role::coordinator, "coordinator"}, then);
  coordinator.reset();
  ASSERT_TRUE(write_private_file(file, old.pem()).ok());
  options.credentials = *net::Credentials::load(file);
  start();
  const auto is_renewed = [&] { return !Identity::load(file)->is_due_for_renewal(identity::wall_now()); };
  EXPECT_TRUE(eventually(is_renewed));
  EXPECT_TRUE(admin()->nodes().ok());
}

// A coordinator runs for months, and its user may not give a command within them.
TEST_F(SecureCluster, TheAdminIsRenewedWhileTheCoordinatorRuns) {
  const fs::path file = admins.of_authority(registrar->authority().certificate().hash())->at(0).path;
  coordinator.reset();
  const identity::WallTime then = identity::wall_now() - std::chrono::days(23);
  ASSERT_TRUE(
      write_private_file(file, Identity::make(registrar->authority(), {Role::admin, "admin"}, then).pem()).ok());
  start();
  const auto is_renewed = [&] { return !Identity::load(file)->is_due_for_renewal(identity::wall_now()); };
  EXPECT_TRUE(eventually(is_renewed));
  EXPECT_EQ(Identity::load(file)->subject(), (Subject{Role::admin, "admin"}));
  EXPECT_TRUE(admin()->members().ok());
}

TEST_F(SecureCluster, AnIdentityOfAnAuthorityThatWasHereBeforeIsReplaced) {
  const fs::path file = registrar->folder() / "coordinator.pem";
  const Identity old = Identity::make(test_authority(), {Role::coordinator, "coordinator"}, identity::wall_now());
  ASSERT_TRUE(write_private_file(file, old.pem()).ok());
  const auto credentials = coordinator_credentials(*registrar, admins, identity::wall_now());
  ASSERT_TRUE(credentials.ok()) << credentials.error().message;
  EXPECT_TRUE((*credentials)->identity().believes(registrar->authority().certificate().hash()));
}

TEST_F(SecureCluster, TheAdminIsKeptOverARestart) {
  const std::string serial = admin_identity().certificate().serial();
  coordinator.reset();
  options.credentials = *coordinator_credentials(*registrar, admins, identity::wall_now());
  start();
  const auto known = *admins.of_authority(registrar->authority().certificate().hash());
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.at(0).identity.certificate().serial(), serial);
  EXPECT_TRUE(admin()->members().ok());
}

TEST_F(SecureCluster, RefusesAKeyThatOthersMayRead) {
  const auto known = *admins.of_authority(registrar->authority().certificate().hash());
  fs::permissions(known.at(0).path, fs::perms::others_read, fs::perm_options::add);
  const auto client = connect(admins, {Role::admin});
  EXPECT_EQ(client.code(), Code::permission_denied);
  EXPECT_NE(client.error().message.find("chmod 600"), std::string::npos) << client.error().message;
}

TEST(Plain, ListensOnThisMachineAlone) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    CoordinatorOptions options;
    options.listen = address;
    const auto refused = Coordinator::start(options);
    EXPECT_EQ(refused.code(), Code::failed_precondition);
    EXPECT_NE(refused.error().message.find("--insecure"), std::string::npos) << refused.error().message;
    NodeOptions node;
    node.listen = address;
    node.threads = 1;
    EXPECT_EQ(Node::start(node).code(), Code::failed_precondition);
  }
  CoordinatorOptions options;
  options.listen = "0.0.0.0:0";
  options.insecure = true;
  EXPECT_TRUE(Coordinator::start(options).ok());
}

TEST_F(SecureCluster, AClientBeginsSoManyJobsAMinuteAndNoMore) {
  const auto connected = [&](const std::string& name) {
    return std::move(*Client::connect(coordinator->address(), *join(invite("client"), {Role::client, name})));
  };
  const auto clara = connected("clara"), bob = connected("bob");
  JobSpec job;
  job.mutable_train()->set_strategy("none");
  for (int i = 0; i < 120; ++i) ASSERT_EQ(clara->run(job, nullptr, {}).code(), Code::not_found) << "of the strategy";
  const Status refused = clara->run(job, nullptr, {});
  ASSERT_EQ(refused.code(), Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("too many jobs of one client"), std::string::npos) << refused.error().message;
  EXPECT_EQ(bob->run(job, nullptr, {}).code(), Code::not_found) << "others may";
}

TEST_F(SecureCluster, AJobThatIsTooLongIsRefusedBeforeItIsSent) {
  coordinator.reset();
  options.max_model = MiB(2);
  start();
  JobSpec job;
  job.mutable_train()->set_model(std::string(MiB(4), 'm'));
  const Status refused = admin()->run(job, nullptr, {});
  ASSERT_EQ(refused.code(), Code::resource_exhausted) << refused.error().message;
  EXPECT_NE(refused.error().message.find("--max-model"), std::string::npos) << refused.error().message;
  // and one that is sent all the same is not taken
  const auto own = net::Credentials::of(admin_identity());
  const auto stub = Cluster::NewStub(open_channel(coordinator->address(), own.get()));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  const auto stream = stub->RunJob(&context);
  FromClient first;
  *first.mutable_job() = job;
  stream->Write(first);
  for (ToClient answer; stream->Read(&answer);) {
  }
  EXPECT_FALSE(stream->Finish().ok());
  EXPECT_EQ(admin()->status({})->job().id(), "");
}

TEST_F(SecureCluster, LongQuestionsAreRefused) {
  const auto pi = *join(invite("node"), {Role::node, "pi"});
  const std::string longer(KiB(65), 'q');
  const auto ask = [&](const std::shared_ptr<const net::Credentials>& who, auto call) {
    grpc::ClientContext context;
    context.set_deadline(from_now(20));
    const auto channel = open_channel(coordinator->address(), who.get());
    return net::from_grpc(call(channel, context)).code();
  };
  EXPECT_EQ(ask(pi,
                [&](const auto& channel, grpc::ClientContext& context) {
                  GetJobRequest request;
                  request.set_job_id(longer);
                  JobSpec job;
                  return Cluster::NewStub(channel)->GetJob(&context, request, &job);
                }),
            Code::resource_exhausted);
  const auto own = net::Credentials::of(admin_identity());
  EXPECT_EQ(ask(own,
                [&](const auto& channel, grpc::ClientContext& context) {
                  SwitchSchedulerRequest request;
                  request.set_scheduler(longer);
                  SwitchSchedulerResponse response;
                  return Cluster::NewStub(channel)->SwitchScheduler(&context, request, &response);
                }),
            Code::resource_exhausted);
  EXPECT_EQ(ask(own,
                [&](const auto& channel, grpc::ClientContext& context) {
                  RevokeRequest request;
                  request.set_name(longer);
                  RevokeResponse response;
                  return Enrolment::NewStub(channel)->Revoke(&context, request, &response);
                }),
            Code::resource_exhausted);
}

}  // namespace
}  // namespace mangrove::cluster
