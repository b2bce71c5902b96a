#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/train/training_job.h"

#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

/// What a liar makes of the floats that it should send; and of its answer, where it is one.
struct Lie {
  std::function<void(std::span<float> floats)> forge = [](std::span<float>) {};
  std::function<void(Answer& answer)> tell = [](Answer&) {};
};

/// The endpoint of a worker that lies about its updates.
class LyingEndpoint final : public net::Endpoint {
 public:
  LyingEndpoint(net::Endpoint& inner, Lie lie) : inner_(inner), lie_(std::move(lie)) {}

  net::Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override {
    const bool has_update = tag == kAnswerTag || tag == kValuesTag;
    inner_.send(to, tag, has_update ? forged(tag, payload) : std::move(payload));
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return inner_.recv(from, tag, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override {
    return inner_.recv_any(from, tags, deadline);
  }
  net::Members members() const override { return inner_.members(); }
  net::Traffic traffic() const override { return inner_.traffic(); }
  void cancel() override { inner_.cancel(); }

 private:
  std::string forged(net::Tag tag, const std::string& payload) const {
    const net::PayloadParts parts = net::split_payload(payload).value();
    std::string header(parts.header);
    Answer answer;
    if (tag == kAnswerTag && answer.ParseFromString(header) && answer.predictions_size() == 0) {
      lie_.tell(answer);
      header = answer.SerializeAsString();
    }
    std::vector<float> floats(parts.body.size() / sizeof(float));
    MG_CHECK(net::read_floats(parts.body, floats).ok());
    lie_.forge(floats);
    std::string made = net::begin_payload(header, parts.body.size());
    net::append_floats(made, floats);
    return made;
  }

  net::Endpoint& inner_;
  const Lie lie_;
};

/// Lets this rank take part in the job, and lie.
inline void let_lie(RoleWorld& world, const TrainJob& job, net::Rank rank, const Lie& lie) {
  world.replace(rank, [&job, lie](job::RoleContext& context) {
    LyingEndpoint endpoint(context.endpoint, lie);
    job::RoleContext lying{endpoint, context.clock, context.device, {}, 1, context.stop, context.report};
    return run_training(job, lying);
  });
}

}  // namespace mangrove::train
