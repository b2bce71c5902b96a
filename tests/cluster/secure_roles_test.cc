// What members may do by their roles, to whom jobs belong, and what the audit log keeps of it.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <regex>
#include <thread>

#include "tests/cluster/secure_cluster.h"

#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

using identity::Role;
using identity::Subject;

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
    id = last_job();
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
  EXPECT_EQ(last_job(), id) << "it goes on";
  EXPECT_TRUE(connected(clara)->stop_job(id, {}).ok());
  claras.join();
  EXPECT_EQ(ended.code(), Code::cancelled);
  // nor is what it has left another's
  expect_refused(connected(bob)->follow(id, nullptr, {}));
  EXPECT_EQ(connected(clara)->follow(id, nullptr, {}).code(), Code::cancelled);
  EXPECT_EQ(admin()->follow(id, nullptr, {}).code(), Code::cancelled);
  EXPECT_EQ(connected(bob)->jobs()->at(0).owner(), "mangrove://client/clara") << "that is no secret in the cluster";
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

}  // namespace
}  // namespace mangrove::cluster
