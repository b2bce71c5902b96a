#include "mangrove/train/worker_role.h"

#include <memory>

#include "mangrove/net/payload.h"

namespace mangrove::train {

job::WorkerLoop::Order WorkerRole::read(const net::Message& message) {
  received_bytes_ = message.payload.size();
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  if (!parts.ok()) return {};
  auto work = std::make_shared<Work>();
  if (!work->ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) return {};
  if (work->kind() == Work::END) return {Order::end};
  if (work->kind() == Work::PING) return {Order::ping};
  return {Order::work, [this, work = std::move(work), body = parts->body] { return handle(*work, body); }};
}

void WorkerRole::say_hello(const Status& status) {
  Hello hello;
  if (status.ok()) {
    describe(hello);
  } else {
    hello.set_code(static_cast<int>(status.code()));
    hello.set_message(status.error().message);
  }
  context_.endpoint.send(0, kHelloTag, hello.SerializeAsString());
}

}  // namespace mangrove::train
