#include "mangrove/cluster/client.h"

#include <grpcpp/grpcpp.h>

#include "mangrove/base/mutex.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/outbox.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/cluster/wire_status.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kListWithin = 10;
constexpr Seconds kLastWordsWithin = 1;

}  // namespace

struct Client::Impl {
  std::string coordinator;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Cluster::Stub> stub;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::connect(const std::string& coordinator, Seconds timeout) {
  MG_RETURN_IF_ERROR(parse_host_port(coordinator).context("coordinator"));
  auto impl = std::make_unique<Impl>();
  impl->coordinator = coordinator;
  impl->channel = open_channel(coordinator);
  if (!wait_connected(*impl->channel, SteadyClock().after(timeout), {}).ok())
    return make_error(Code::unavailable, coordinator + ": no coordinator answers (tried for " +
                                             format_seconds(timeout) +
                                             "); start one with: mangrove coordinator --listen " + coordinator);
  impl->stub = Cluster::NewStub(impl->channel);
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Result<std::vector<NodeStatus>> Client::nodes() {
  MG_TRY(const ListNodesResponse response, status({}));
  return std::vector<NodeStatus>(response.nodes().begin(), response.nodes().end());
}

Result<ListNodesResponse> Client::status(const std::stop_token& stop) {
  grpc::ClientContext context;
  context.set_deadline(from_now(kListWithin));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  ListNodesResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(impl_->stub->ListNodes(&context, {}, &response))
                         .context("asking the coordinator at " + impl_->coordinator + " for its nodes"));
  return response;
}

Status Client::run(const Job& job, const Reporter& report, std::stop_token stop) {
  grpc::ClientContext context;
  const auto stream = impl_->stub->RunJob(&context);
  Outbox<FromClient> outbox([&](const FromClient& message) { return stream->Write(message); },
                            [&] { context.TryCancel(); });
  FromClient first;
  *first.mutable_job() = job;
  outbox.send(std::move(first));
  Status status;
  bool ended = false;
  {
    const std::stop_callback ask_to_stop(stop, [&] {
      FromClient message;
      message.mutable_stop();
      outbox.send(std::move(message));
    });
    // a coordinator that is gone without a word breaks the stream (see open_channel)
    ToClient message;
    while (!ended && stream->Read(&message)) {
      ended = message.has_ended();
      if (ended) status = status_from_wire(message.ended().code(), message.ended().message());
      if (message.has_report() && report) {
        JobReport& got = *message.mutable_report();
        report({.kind = std::move(*got.mutable_kind()),
                .json = std::move(*got.mutable_json()),
                .attachment = std::move(*got.mutable_attachment())});
      }
    }
  }
  outbox.close(kLastWordsWithin);
  context.TryCancel();
  const Status broken = net::from_grpc(stream->Finish());
  if (ended) return status;
  return make_error(Code::unavailable, "the coordinator at " + impl_->coordinator + " is gone: " +
                                           (broken.ok() ? "it ended the job's stream" : broken.error().message));
}

}  // namespace mangrove::cluster
