#include "tests/net/grpc_process.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::net {

GrpcProcess::GrpcProcess(std::shared_ptr<const Credentials> credentials)
    : credentials_(std::move(credentials)), transport_(std::make_shared<SteadyClock>(), credentials_) {
  start_server();
}

GrpcProcess::~GrpcProcess() {
  transport_.shutdown(0);
  stop_server();
}

void GrpcProcess::stop_server() {
  if (server_) server_->Shutdown(std::chrono::system_clock::time_point());  // cancels what is open
  server_.reset();
}

void GrpcProcess::start_server() {
  const SteadyClock clock;
  const Deadline deadline = soon();
  while (!server_ && clock.now() < deadline) {  // the port may be taken for a moment more
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(1 << 30);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(address(), server_credentials(credentials_.get(), ""), &port_);
    builder.RegisterService(&transport_.service());
    server_ = builder.BuildAndStart();
  }
  EXPECT_TRUE(server_) << "cannot listen on " << address();
}

std::shared_ptr<const Credentials> test_credentials(identity::Role role, const std::string& name) {
  static const identity::Authority authority = identity::Authority::make(identity::wall_now());
  return Credentials::of(identity::Identity::make(authority, {role, name}, identity::wall_now()));
}

Subjects subjects_of(const Members& members) {
  Subjects subjects;
  for (const Member& member : members.all)
    subjects[member.rank] = identity::Subject{identity::Role::node, member.name}.uri();
  return subjects;
}

std::unique_ptr<Endpoint> join(GrpcProcess& process, const std::string& job, Rank rank,
                               const std::map<Rank, std::string>& addresses, const Subjects& subjects) {
  Result<std::unique_ptr<Endpoint>> endpoint = process.transport().join(
      job, rank, addresses, process.address(), all_alive(static_cast<int>(addresses.size())), subjects);
  EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
  return endpoint.ok() ? std::move(*endpoint) : nullptr;
}

gpr_timespec soon_for_grpc() {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros(static_cast<std::int64_t>(kSoon * 1e6), GPR_TIMESPAN));
}

grpc::Status exchange(const GrpcProcess& process, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                      const char* link, const std::vector<Envelope>& envelopes) {
  const auto stub = Peer::NewStub(grpc::CreateChannel(process.address(), credentials));
  grpc::ClientContext context;
  context.set_deadline(soon_for_grpc());
  if (link) context.AddMetadata("mangrove-link", link);
  const auto stream = stub->Exchange(&context);
  for (const Envelope& envelope : envelopes) stream->Write(envelope);
  stream->WritesDone();
  for (Receipt receipt; stream->Read(&receipt);) {
  }
  return stream->Finish();
}

}  // namespace mangrove::net
