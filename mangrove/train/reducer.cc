#include "mangrove/train/reducer.h"

#include <algorithm>

#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

Result<std::unique_ptr<Reducer>> Reducer::create(Graph graph, const Recipe& recipe, const Topology& topology,
                                                 net::RoleContext& context, Seconds timeout,
                                                 std::optional<net::Message>& interruption) {
  Recipe own = recipe;
  own.ema_decay = 0;  // the leader keeps the average
  MG_TRY(std::unique_ptr<Master> master, Master::create(std::move(graph), own));
  return std::unique_ptr<Reducer>(new Reducer(std::move(master), topology, context, timeout / 3, interruption));
}

bool Reducer::follow(const Work& work, std::string_view body) {
  const std::string sum = std::exchange(sum_, {});
  if (work.state()) {
    Result<learn::Checkpoint> state = learn::parse_checkpoint(body);
    if (!state.ok()) return false;
    state->average.clear();  // is the leader's
    if (!master_->restore(*state).ok()) return false;
    version_ = work.version();
    return true;
  }
  if (version_ == work.version()) return true;
  const Update& update = work.update();
  const bool is_next = !sum.empty() && update.reduction() == sum_id_ && update.step() == version_ + 1;
  if (!is_next || work.version() != update.step()) return false;
  const Master::Part part{sum, update.samples()};
  master_->step(std::span(&part, 1), update.learning_rate(), update.step());
  version_ = update.step();
  return true;
}

Result<bool> Reducer::reduce(const Work& work, std::span<float> values) {
  const net::RankSet group(work.reduction().ranks().begin(), work.reduction().ranks().end());
  const auto me = std::find(group.begin(), group.end(), context_.endpoint.rank());
  if (me == group.end()) return false;
  id_ = work.reduction().id();
  round_ = work.round();
  waited_.reset();
  parts_.begin(id_, group);
  const Status status = all_reduce(*this, group, static_cast<std::size_t>(me - group.begin()), topology_, values);
  if (!status.ok() && !interruption_ && status.code() == Code::cancelled) return status.error();
  if (!status.ok()) return false;
  net::append_floats(sum_, values);
  sum_id_ = id_;
  return true;
}

Status Reducer::recv(net::Rank from, std::span<float> into) {
  const Instant asked = context_.clock.now();
  while (true) {
    MG_TRY(const bool received, parts_.receive(from, into, context_.clock.after(patience_)));
    if (received) break;
    tell_leader(from);
  }
  if (!waited_) waited_ = context_.clock.now() - asked;
  return {};
}

void Reducer::tell_leader(net::Rank waiting_for) {
  Answer answer;
  answer.set_round(round_);
  Waiting& waiting = *answer.mutable_waiting();
  waiting.set_rank(waiting_for);
  const auto received = parts_.received().find(waiting_for);
  waiting.set_received(received == parts_.received().end() ? 0 : received->second);
  for (const auto& [rank, parts] : parts_.received()) waiting.set_progress(waiting.progress() + parts);
  for (const auto& [rank, parts] : parts_.sent()) (*waiting.mutable_sent())[rank] = parts;
  context_.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
