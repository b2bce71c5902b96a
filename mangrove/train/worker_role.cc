#include "mangrove/train/worker_role.h"

#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr Seconds kWait = 5;  // for work; then it is waited for again, as long as the server is alive

}  // namespace

Status WorkerRole::run() {
  failure_ = prepare();
  say_hello();
  while (true) {
    Result<net::Message> message = next_message();
    if (!message.ok() && message.code() == Code::deadline_exceeded) continue;
    if (!message.ok()) return message.error().context("training: the server");
    Work work;
    received_bytes_ = message->payload.size();
    const Result<net::PayloadParts> parts = net::split_payload(message->payload);
    if (!parts.ok() || !work.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
      log_warn("work cannot be read", {{"bytes", message->payload.size()}});
      continue;
    }
    if (work.kind() == Work::END) return failure_;
    if (work.kind() == Work::PING || !failure_.ok()) {
      say_hello();
      continue;
    }
    failure_ = handle(work, parts->body);
    if (!failure_.ok()) say_hello();
  }
}

Result<net::Message> WorkerRole::next_message() {
  if (interruption_) return *std::exchange(interruption_, std::nullopt);
  return context_.endpoint.recv({0}, kWorkTag, context_.clock.after(kWait));
}

void WorkerRole::say_hello() {
  Hello hello;
  if (failure_.ok()) {
    describe(hello);
  } else {
    hello.set_code(static_cast<int>(failure_.code()));
    hello.set_message(failure_.error().message);
  }
  context_.endpoint.send(0, kHelloTag, hello.SerializeAsString());
}

}  // namespace mangrove::train
