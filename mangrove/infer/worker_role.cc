#include "mangrove/infer/worker_role.h"

#include <memory>
#include <utility>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/tags.h"

namespace mangrove::infer {

WorkerRole::WorkerRole(const InferJob& job, job::RoleContext& context, std::vector<net::Tag> from_peers)
    : WorkerLoop(context, kCommandTag, std::move(from_peers)),
      job_(without_networks(job)),
      fetch_(context, job.answer_timeout_s()) {}

job::WorkerLoop::Order WorkerRole::read(const net::Message& message) {
  auto command = std::make_shared<Command>();
  if (!command->ParseFromString(message.payload)) return {};
  if (command->kind() == Command::END) return {Order::end};
  if (command->kind() == Command::PING) return {Order::ping};
  return {Order::work, [this, command = std::move(command)] { return handle(std::move(*command)); }};
}

std::optional<net::Message> WorkerRole::next_postponed() {
  if (!fetch_.has_commands()) return std::nullopt;
  return fetch_.next_command();
}

Result<std::string> WorkerRole::fetch_network(const std::string& sha256) {
  Result<std::string> network = fetch_.get(sha256);
  if (!network.ok() && network.code() == Code::cancelled) end();
  return network;
}

Result<std::string> WorkerRole::fetch_weights(const std::string& sha256) {
  Result<std::string> weights = fetch_.get_weights(sha256);
  if (!weights.ok() && weights.code() == Code::cancelled) end();
  return weights;
}

void WorkerRole::say_hello(const Status& status) {
  FromNode message;
  Hello& hello = *message.mutable_hello();
  if (status.ok()) {
    describe(hello);
  } else {
    hello.set_code(static_cast<int>(status.code()));
    hello.set_message(status.error().message);
  }
  send(message);
}

void WorkerRole::send(const FromNode& message) const {
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

}  // namespace mangrove::infer
