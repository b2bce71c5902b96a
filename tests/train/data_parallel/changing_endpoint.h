#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/train/training_job.h"

#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

/// What is sent in place of a worker's message.
using ChangePayload = std::function<std::string(net::Tag tag, std::string payload)>;
/// Sees each message that a worker takes.
using Watch = std::function<void(const net::Message& message)>;

/// The endpoint of a worker whose messages a test reads and changes.
class ChangingEndpoint final : public net::Endpoint {
 public:
  ChangingEndpoint(net::Endpoint& inner, ChangePayload change, Watch watch)
      : inner_(inner), change_(std::move(change)), watch_(std::move(watch)) {}

  net::Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override {
    inner_.send(to, tag, change_(tag, std::move(payload)));
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return watched(inner_.recv(from, tag, deadline));
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override {
    return watched(inner_.recv_any(from, tags, deadline));
  }
  net::Members members() const override { return inner_.members(); }
  net::Traffic traffic() const override { return inner_.traffic(); }
  void cancel() override { inner_.cancel(); }

 private:
  Result<net::Message> watched(Result<net::Message> message) const {
    if (message.ok() && watch_) watch_(*message);
    return message;
  }

  net::Endpoint& inner_;
  const ChangePayload change_;
  const Watch watch_;
};

/// Lets this rank take part in the job with messages that `change` has seen.
inline void change_messages(RoleWorld& world, const TrainJob& job, net::Rank rank, const ChangePayload& change,
                            const Watch& watch = {}) {
  world.replace(rank, [&job, change, watch](job::RoleContext& context) {
    ChangingEndpoint endpoint(context.endpoint, change, watch);
    job::RoleContext changing{endpoint, context.clock, context.device, {}, 1, context.stop, context.report};
    return run_training(job, changing);
  });
}

/// What becomes of a worker's answer and its body.
using ChangeAnswer = std::function<void(Answer& answer, std::string& body)>;

/// As change_messages(), with each answer apart.
inline void change_answers(RoleWorld& world, const TrainJob& job, net::Rank rank, const ChangeAnswer& change,
                           const Watch& watch = {}) {
  const auto change_message = [change](net::Tag tag, std::string payload) {
    if (tag != kAnswerTag) return payload;
    const net::PayloadParts parts = net::split_payload(payload).value();
    Answer answer;
    MG_CHECK(answer.ParseFromString(std::string(parts.header)));
    std::string body(parts.body);
    change(answer, body);
    return net::begin_payload(answer.SerializeAsString(), body.size()) + body;
  };
  change_messages(world, job, rank, change_message, watch);
}

}  // namespace mangrove::train
