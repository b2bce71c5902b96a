// Networks of jobs are signed by who begins them: no other network reaches the work of a node.
#include "mangrove/cluster/network_signature.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/job_store.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/cluster/wire_status.h"
#include "mangrove/identity/digest.h"

namespace mangrove::cluster {
namespace {

using identity::Identity;
using identity::Role;

const std::vector<identity::Certificate>& authorities() {
  static const std::vector<identity::Certificate> own{test_authority().certificate()};
  return own;
}

Identity member(Role role, const std::string& name = "somebody") {
  return Identity::make(test_authority(), {role, name}, identity::wall_now());
}

JobSpec signed_job(const std::string& model, const std::string& frozen = "") {
  JobSpec job = scripted_job("echo");
  job.mutable_train()->set_model(model);
  if (!frozen.empty()) job.mutable_train()->set_frozen(frozen);
  return job;
}

JobSpec ensemble(const std::vector<std::string>& members) {
  JobSpec job;
  for (const std::string& member : members) job.mutable_infer()->add_members(member);
  return job;
}

JobSpec inference(const std::string& model) {
  JobSpec job;
  job.mutable_infer()->set_model(model);
  return job;
}

JobSpec with_signature(JobSpec job, const Identity& owner) {
  EXPECT_TRUE(sign_networks(job, owner).ok());
  return job;
}

std::string why(const JobSpec& job) {
  const Status checked = check_networks(job, authorities());
  return checked.ok() ? "" : checked.error().message;
}

TEST(NetworkSignature, FitsTheJobAsItIsSentAndAsNodesGetIt) {
  for (const JobSpec& job : {signed_job("a"), signed_job("a", "b"), inference("a"), ensemble({"a", "b"})}) {
    const JobSpec sent = with_signature(job, member(Role::client));
    EXPECT_EQ(why(sent), "");
    const auto of_nodes = job_of_nodes(sent);
    EXPECT_EQ(of_nodes.has_value(), sent.has_infer());
    EXPECT_EQ(why(of_nodes.value_or(sent)), "");
  }
}

TEST(NetworkSignature, NoOtherNetworkFits) {
  const auto client = member(Role::client);
  const auto changed = [&](const JobSpec& meant, JobSpec found) {
    found.set_networks_signature(with_signature(meant, client).networks_signature());
    EXPECT_EQ(check_networks(found, authorities()).code(), Code::invalid_argument);
    return why(found);
  };
  const std::string message = changed(signed_job("a"), signed_job("b"));
  EXPECT_NE(message.find("mangrove://client/somebody"), std::string::npos) << message;
  EXPECT_NE(message.find("expected \"model: " + identity::sha256("a")), std::string::npos) << message;
  EXPECT_NE(message.find("found \"model: " + identity::sha256("b")), std::string::npos) << message;
  const std::string added = changed(signed_job("a"), signed_job("a", "b"));
  EXPECT_NE(added.find("expected \"nothing\", found \"frozen: " + identity::sha256("b")), std::string::npos) << added;
  EXPECT_NE(changed(signed_job("a", "b"), signed_job("a")), "");
  EXPECT_NE(changed(signed_job("a", "b"), signed_job("b", "a")), "");
  EXPECT_NE(changed(ensemble({"a", "b"}), ensemble({"b", "a"})), "");
  EXPECT_NE(changed(ensemble({"a", "b"}), ensemble({"a"})), "");
  EXPECT_NE(changed(ensemble({"a"}), inference("a")), "");
  JobSpec with_outline = inference("a"), other_outline = inference("a");
  with_outline.mutable_infer()->set_outline("o");
  other_outline.mutable_infer()->set_outline("p");
  EXPECT_NE(changed(with_outline, other_outline).find("outline"), std::string::npos);
  EXPECT_NE(changed(with_outline, inference("a")), "");
  EXPECT_EQ(why(*job_of_nodes(with_signature(with_outline, client))), "");
  JobSpec of_nodes = *job_of_nodes(with_signature(inference("a"), client));
  of_nodes.mutable_infer()->set_model_sha256(identity::sha256("b"));
  EXPECT_NE(why(of_nodes).find("found \"model: " + identity::sha256("b")), std::string::npos) << why(of_nodes);
}

TEST(NetworkSignature, IsOfAMemberWhoMayBeginJobs) {
  EXPECT_NE(why(signed_job("a")).find("not signed"), std::string::npos);
  EXPECT_EQ(why(with_signature(signed_job("a"), member(Role::admin))), "");
  for (const Role role : {Role::node, Role::coordinator, Role::viewer})
    EXPECT_NE(why(with_signature(signed_job("a"), member(role))).find("begins none"), std::string::npos);
  const auto other = identity::Authority::make(identity::wall_now());
  const auto stranger = Identity::make(other, {Role::client, "somebody"}, identity::wall_now());
  EXPECT_NE(why(with_signature(signed_job("a"), stranger)).find("another certificate authority"), std::string::npos);
  const JobSpec job = with_signature(signed_job("a"), member(Role::client, "clara"));
  EXPECT_TRUE(check_networks_of("mangrove://client/clara", job, authorities()).ok());
  EXPECT_EQ(check_networks_of("mangrove://client/bob", job, authorities()).code(), Code::invalid_argument);
}

/// How the coordinator answers a client that sends the job as it is here.
Status send_as_it_is(const std::string& coordinator, const JobSpec& job) {
  const auto credentials = test_credentials(Role::client, "somebody");
  const auto stub = Cluster::NewStub(open_channel(coordinator, credentials.get()));
  grpc::ClientContext context;
  context.set_deadline(from_now(20));
  const auto stream = stub->RunJob(&context);
  FromClient first;
  *first.mutable_job() = job;
  stream->Write(first);
  ToClient message;
  while (stream->Read(&message))
    if (message.has_ended()) break;
  context.TryCancel();
  stream->Finish();
  return status_from_wire(message.ended().code(), message.ended().message());
}

TEST(NetworkSignature, ACoordinatorTakesNoJobWithAnother) {
  const TestCluster cluster(1);
  const auto sent = [&](const JobSpec& job) { return send_as_it_is(cluster.coordinator->address(), job); };
  JobSpec changed = with_signature(signed_job("a"), member(Role::client));
  changed.mutable_train()->set_model("b");
  for (const JobSpec& job : {signed_job("a"), changed, with_signature(signed_job("a"), member(Role::client, "else"))}) {
    const Status refused = sent(job);
    ASSERT_FALSE(refused.ok()) << "it ran";
    EXPECT_EQ(refused.code(), Code::invalid_argument) << refused.error().message;
  }
  const Status ran = sent(with_signature(signed_job("a"), member(Role::client)));
  EXPECT_TRUE(ran.ok()) << ran.error().message;
}

/// What becomes of a job in the books of a coordinator that was stopped: it hands it on without a look.
Status handed_on(const JobSpec& job) {
  const testing::TemporaryFolder folder;
  const std::string id = "job-0";
  EXPECT_TRUE((*JobStore::open(folder / "state"))->begin(id, job, "mangrove://client/somebody").ok());
  const TestCluster cluster(2, TestCluster::kMisses, scripted_role, folder / "state");
  return cluster.client()->follow(id, nullptr, {});
}

TEST(NetworkSignature, ANodeTakesNoOtherNetworkFromItsCoordinator) {
  JobSpec job = with_signature(signed_job("a"), member(Role::client));
  const Status ran = handed_on(job);
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  job.mutable_train()->set_model("b");
  const Status refused = handed_on(job);
  ASSERT_FALSE(refused.ok()) << "it ran";
  EXPECT_EQ(refused.code(), Code::invalid_argument) << refused.error().message;
  EXPECT_NE(refused.error().message.find("found \"model: " + identity::sha256("b")), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("node-"), std::string::npos) << refused.error().message;
}

TEST(NetworkSignature, WithoutCertificatesNothingIsSignedAndNothingChecked) {
  CoordinatorOptions options;
  options.listen = "127.0.0.1:0";
  options.play = scripted_role;
  options.check = [](const JobSpec&) { return Status(); };
  const auto coordinator = Coordinator::start(options);
  ASSERT_TRUE(coordinator.ok()) << coordinator.error().message;
  NodeOptions node;
  node.coordinator = (*coordinator)->address();
  node.listen = "127.0.0.1:0";
  node.threads = 1;
  node.play = scripted_role;
  const auto started = Node::start(node);
  ASSERT_TRUE(started.ok()) << started.error().message;
  std::string results;
  const auto take = [&](const Report& report) { results += report_name(report) == "result" ? report.json : ""; };
  const Status ran = (*Client::connect((*coordinator)->address()))->run(signed_job("a"), take, {});
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_NE(results, "");
  EXPECT_EQ(results.find("signature"), std::string::npos) << results;
}

}  // namespace
}  // namespace mangrove::cluster
