// What strangers and members try on a cluster with certificates, and how it bounds what they send and ask for.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <limits>

#include "tests/cluster/secure_cluster.h"

#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/enrolment.grpc.pb.h"
#include "mangrove/cluster/job_checks.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/grpc_status.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::cluster {
namespace {

using identity::Role;

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
  const std::string id = last_job();
  ASSERT_NE(id, "");
  EXPECT_EQ(get_job(coordinator->address(), id, *mallory).code(), Code::permission_denied);
  const grpc::Status sent = send_forged(coordinator->address(), id, *mallory);
  EXPECT_TRUE(sent.ok()) << sent.error_message();
  question.may_ask.set_value();
  job.join();
  EXPECT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_NE(answer.find(R"("answer":"honest")"), std::string::npos) << answer;
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
  EXPECT_EQ(admin()->status({})->refused().at("too_many_streams"), 1);
  joined.pop_back();
  for (Joined& one : joined) one.context.TryCancel();
  for (Joined& one : joined) one.stream->Finish();
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
  EXPECT_EQ(bob->status({})->refused().at("too_many_jobs"), 1);
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
  EXPECT_EQ(last_job(), "");
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
