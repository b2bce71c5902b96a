#include "tests/cluster/fake_node.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/cluster/test_identity.h"

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/network_signature.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {

struct FakeNode::Impl {
  Impl(const std::string& coordinator, const std::string& called)
      : name(called),
        credentials(test_credentials(identity::Role::node, called)),
        stub(Cluster::NewStub(open_channel(coordinator, credentials.get()))),
        stream(stub->Join(&context)),
        reader([this] { read(); }) {}

  void read() {
    ToNode message;
    while (stream->Read(&message)) {
      MutexLock lock(mutex);
      if (!message.has_echo()) waiting.push_back(message);
      changed.notify_all();
    }
    MutexLock lock(mutex);
    over = true;
    changed.notify_all();
  }

  const std::string name;
  const std::shared_ptr<const net::Credentials> credentials;
  SteadyClock clock;
  std::unique_ptr<Cluster::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<FromNode, ToNode>> stream;
  Mutex mutex;
  Condition changed;
  std::deque<ToNode> waiting;
  bool over = false;
  std::jthread reader;
};

FakeNode::FakeNode(const std::string& coordinator, const std::string& name)
    : impl_(std::make_unique<Impl>(coordinator, name)) {}

FakeNode::~FakeNode() {
  impl_->context.TryCancel();
  impl_->reader.join();
  impl_->stream->Finish();
}

void FakeNode::say(const FromNode& message) {
  impl_->stream->Write(message);
}

void FakeNode::hello() {
  FromNode message;
  message.mutable_hello()->set_name(impl_->name);
  message.mutable_hello()->set_address("127.0.0.1:1");
  say(message);
}

void FakeNode::heartbeat() {
  FromNode message;
  message.mutable_heartbeat()->set_rss_bytes(1);
  say(message);
}

std::optional<ToNode> FakeNode::next(Seconds limit) {
  MutexLock lock(impl_->mutex);
  const Deadline deadline = impl_->clock.after(limit);
  while (impl_->waiting.empty() && !impl_->over && impl_->clock.now() < deadline)
    impl_->changed.wait_for(impl_->mutex, deadline - impl_->clock.now());
  if (impl_->waiting.empty()) return std::nullopt;
  ToNode message = impl_->waiting.front();
  impl_->waiting.pop_front();
  return message;
}

bool FakeNode::is_cut(Seconds limit) {
  MutexLock lock(impl_->mutex);
  const Deadline deadline = impl_->clock.after(limit);
  while (!impl_->over && impl_->clock.now() < deadline)
    impl_->changed.wait_for(impl_->mutex, deadline - impl_->clock.now());
  return impl_->over;
}

Status open_run_job(const std::string& coordinator, const std::optional<FromClient>& first, Seconds limit) {
  const auto credentials = test_credentials(identity::Role::client, "somebody");
  const auto stub = Cluster::NewStub(open_channel(coordinator, credentials.get()));
  grpc::ClientContext context;
  context.set_deadline(from_now(limit));
  const auto stream = stub->RunJob(&context);
  if (first && first->has_job()) {
    FromClient with_signature = *first;
    EXPECT_TRUE(sign_networks(*with_signature.mutable_job(), credentials->identity()).ok());
    stream->Write(with_signature);
  } else if (first) {
    stream->Write(*first);
  }
  ToClient message;
  while (stream->Read(&message)) {
  }
  return net::from_grpc(stream->Finish());
}

}  // namespace mangrove::cluster
