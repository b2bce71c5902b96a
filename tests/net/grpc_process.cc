#include "tests/net/grpc_process.h"

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

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

}  // namespace mangrove::net
