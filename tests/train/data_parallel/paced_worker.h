#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "tests/train/training_job.h"

#include "mangrove/net/payload.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

/// The endpoint of a worker whose samples take time, in a world of virtual time: all that it sends after it got work
/// comes so much later, and its answer tells of that time.
class PacedEndpoint final : public net::Endpoint {
 public:
  /// Of each sample of this work, of kind TRAIN. Called once for each.
  using StepBasis = std::function<Seconds(const Work&)>;
  PacedEndpoint(job::RoleContext& context, StepBasis pace)
      : inner_(context.endpoint), clock_(context.clock), pace_(std::move(pace)) {}

  net::Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override {
    compute();
    inner_.send(to, tag, to == 0 && tag == kAnswerTag ? with_time(std::move(payload)) : std::move(payload));
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override {
    Result<net::Message> message = inner_.recv_any(from, tags, deadline);
    if (message.ok() && message->tag == kWorkTag) take(message->payload);
    return message;
  }
  net::Members members() const override { return inner_.members(); }
  net::Traffic traffic() const override { return inner_.traffic(); }
  void cancel() override { inner_.cancel(); }

 private:
  void take(const std::string& payload) {
    const Work work = read<Work>(payload);
    time_ = 0;
    if (work.kind() == Work::TRAIN)
      time_ = static_cast<double>(work.samples_size() * std::max<std::int64_t>(1, work.passes())) * pace_(work);
    done_ = clock_.after(time_);
  }
  void compute() {
    constexpr net::Tag kNobodySends = 99;
    while (time_ > 0 && clock_.now() < done_) {
      const auto nothing = inner_.recv({0}, kNobodySends, done_);
      if (nothing.code() != Code::deadline_exceeded) return;  // cancelled, or the leader is gone
    }
  }
  std::string with_time(std::string payload) const {
    Answer answer = read<Answer>(payload);
    if (answer.count() == 0 || time_ == 0) return payload;
    answer.set_compute_s(time_);
    const std::string body(net::split_payload(payload)->body);
    return net::begin_payload(answer.SerializeAsString(), body.size()) + body;
  }
  /// The header; an empty one if there is none.
  template <class Header>
  static Header read(const std::string& payload) {
    Header header;
    const auto parts = net::split_payload(payload);
    if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) return {};
    return header;
  }

  net::Endpoint& inner_;
  Clock& clock_;
  const StepBasis pace_;
  Seconds time_ = 0;  // of the last work
  Instant done_;      // with it
};

/// Lets this rank take part in the job at this pace.
inline void set_pace(RoleWorld& world, const TrainJob& job, net::Rank rank, PacedEndpoint::StepBasis pace) {
  world.replace(rank, [&job, pace = std::move(pace)](job::RoleContext& context) {
    PacedEndpoint endpoint(context, pace);
    job::RoleContext paced{endpoint, context.clock, context.device, {}, 1, context.stop, context.report};
    return run_training(job, paced);
  });
}

}  // namespace mangrove::train
