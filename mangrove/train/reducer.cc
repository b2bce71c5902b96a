#include "mangrove/train/reducer.h"

#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kMostEarly = 64;  // parts of later reductions from one rank; nobody sends as many in good faith

}  // namespace

Result<std::unique_ptr<Reducer>> Reducer::create(Graph graph, const Recipe& recipe, const Topology& topology,
                                                 net::RoleContext& context, Seconds timeout) {
  Recipe own = recipe;
  own.ema_decay = 0;  // the leader keeps the average
  MG_TRY(std::unique_ptr<Master> master, Master::create(std::move(graph), own));
  return std::unique_ptr<Reducer>(new Reducer(std::move(master), topology, context, timeout / 3));
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
  sent_.clear();
  received_.clear();
  std::erase_if(
      early_, [&](const auto& of_rank) { return std::find(group.begin(), group.end(), of_rank.first) == group.end(); });
  const Status status = all_reduce(*this, group, static_cast<std::size_t>(me - group.begin()), topology_, values);
  if (!status.ok() && !interruption_ && status.code() == Code::cancelled) return status.error();
  if (!status.ok()) return false;
  net::append_floats(sum_, values);
  sum_id_ = id_;
  return true;
}

void Reducer::send(net::Rank to, std::span<const float> values) {
  ReductionPart header;
  header.set_reduction(id_);
  header.set_sequence(sent_[to]++);
  std::string payload = net::begin_payload(header.SerializeAsString(), values.size_bytes());
  net::append_floats(payload, values);
  context_.endpoint.send(to, kPartTag, std::move(payload));
}

Status Reducer::recv(net::Rank from, std::span<float> into) {
  if (take_early(from, into)) return {};
  while (true) {
    Result<net::Message> message =
        context_.endpoint.recv_any({from, 0}, {kPartTag, kWorkTag}, context_.clock.after(patience_));
    if (!message.ok() && message.code() == Code::deadline_exceeded) {
      tell_leader(from);
      continue;
    }
    if (!message.ok()) return message.error();
    if ((message->tag == kWorkTag) != (message->from == 0)) continue;  // of nobody who has a say in it
    if (message->tag == kWorkTag) {
      interruption_ = std::move(*message);
      return make_error(Code::cancelled, "the leader has other work");
    }
    if (take_part(*message, into)) return {};
  }
}

/// Parts of reductions that came to nothing are dropped. Those of later ones are kept: their sender has been told of
/// it, and this rank will be.
bool Reducer::take_part(const net::Message& message, std::span<float> into) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  ReductionPart header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("part of a reduction cannot be read", {{"rank", message.from}, {"bytes", message.payload.size()}});
    return false;
  }
  if (header.reduction() > id_ && early_[message.from].size() < kMostEarly) early_[message.from].push_back(message);
  if (header.reduction() != id_ || header.sequence() != received_[message.from]) return false;
  if (!net::read_floats(parts->body, into).ok()) return false;
  ++received_[message.from];
  return true;
}

bool Reducer::take_early(net::Rank from, std::span<float> into) {
  std::deque<net::Message> early = std::exchange(early_[from], {});
  bool taken = false;
  for (net::Message& message : early) {
    if (taken) {
      early_[from].push_back(std::move(message));
    } else {
      taken = take_part(message, into);
    }
  }
  return taken;
}

void Reducer::tell_leader(net::Rank waiting_for) {
  Answer answer;
  answer.set_round(round_);
  Waiting& waiting = *answer.mutable_waiting();
  waiting.set_rank(waiting_for);
  waiting.set_received(received_[waiting_for]);
  for (const auto& [rank, parts] : received_) waiting.set_progress(waiting.progress() + parts);
  for (const auto& [rank, parts] : sent_) (*waiting.mutable_sent())[rank] = parts;
  context_.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
