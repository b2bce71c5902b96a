#include "mangrove/train/reducer.h"

#include <algorithm>

#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kBucket = 128 * 1024;  // elements; half a megabyte is some 40 ms on the link of a small board

std::vector<Bucket> buckets_of(const Graph& graph) {
  std::vector<std::size_t> sizes;
  for (const std::string& parameter : graph.parameters())
    sizes.push_back(static_cast<std::size_t>(graph.value(parameter).shape.elements()));
  return plan_buckets(sizes, kBucket);
}

}  // namespace

Reducer::Reducer(std::unique_ptr<Master> master, const Topology& topology, net::RoleContext& context, Seconds patience,
                 std::optional<net::Message>& interruption)
    : master_(std::move(master)),
      topology_(topology),
      context_(context),
      patience_(patience),
      parts_(context, kPartTag, interruption),
      interruption_(interruption),
      buckets_(buckets_of(master_->graph())) {}

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

bool Reducer::begin(const Work& work, std::span<float> values) {
  const net::RankSet group(work.reduction().ranks().begin(), work.reduction().ranks().end());
  const auto me = std::find(group.begin(), group.end(), context_.endpoint.rank());
  if (me == group.end()) return false;
  id_ = work.reduction().id();
  round_ = work.round();
  values_ = values;
  broken_ = {};
  waited_ = 0;
  parts_.begin(id_, group);
  sums_.assign(buckets_.size(), {});
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    Range range = buckets_[i].elements;
    if (i == 0) range.count = values.size() - range.first;
    sums_[i].missing = buckets_[i].parameters + (i == 0 ? 1 : 0);
    sums_[i].values = values.subspan(range.first, range.count);
    sums_[i].plan = plan_all_reduce(group, static_cast<std::size_t>(me - group.begin()), topology_, range.count);
  }
  return true;
}

void Reducer::ready(std::size_t parameter) {
  const auto holds = [&](const Bucket& bucket) { return parameter >= bucket.first_parameter; };
  const auto bucket = std::find_if(buckets_.begin(), buckets_.end(), holds) - buckets_.begin();
  if (--sums_[static_cast<std::size_t>(bucket)].missing == 0) advance(static_cast<std::uint32_t>(bucket));
  if (broken_.ok()) broken_ = take_parts(Deadline{});
}

Result<bool> Reducer::finish() {
  const Instant asked = context_.clock.now();
  while (broken_.ok() && !std::all_of(sums_.begin(), sums_.end(), [](const Sum& sum) { return sum.done(); })) {
    broken_ = take_parts(context_.clock.after(patience_));
    if (waited_ == 0) waited_ = context_.clock.now() - asked;
  }
  if (!broken_.ok() && !interruption_ && broken_.code() == Code::cancelled) return broken_.error();
  if (!broken_.ok()) return false;
  net::append_floats(sum_, values_);
  sum_id_ = id_;
  return true;
}

/// Goes on with a bucket's plan, as far as the parts that are there allow.
void Reducer::advance(std::uint32_t bucket) {
  Sum& sum = sums_[bucket];
  for (; !sum.done(); ++sum.next) {
    const Transfer& transfer = sum.plan[sum.next];
    if (transfer.kind == Transfer::Kind::send) {
      parts_.send(transfer.peer, bucket, sum.values.subspan(transfer.range.first, transfer.range.count));
    } else if (!use_part(bucket, transfer)) {
      return;
    }
  }
}

bool Reducer::use_part(std::uint32_t bucket, const Transfer& transfer) {
  const auto part = parts_.take(transfer.peer, bucket);
  if (!part) return false;
  const auto into = sums_[bucket].values.subspan(transfer.range.first, transfer.range.count);
  const bool adds = transfer.kind == Transfer::Kind::add;
  const Status used = adds ? net::add_floats(part->body(), into) : net::read_floats(part->body(), into);
  if (!used.ok()) parts_.refuse(transfer.peer, bucket);
  return used.ok();
}

/// Takes in all that has come for the buckets that are under way; waits for the first of it until the deadline.
Status Reducer::take_parts(Deadline deadline) {
  while (true) {
    net::RankSet from;
    for (const Sum& sum : sums_) {
      if (sum.waits()) from.push_back(sum.waits_for());
    }
    MG_TRY(const bool came, parts_.wait(from, deadline));
    if (!came && deadline != Deadline{} && !from.empty()) tell_leader(from[0]);
    if (!came) return {};
    for (std::uint32_t bucket = 0; bucket < sums_.size(); ++bucket) {
      if (sums_[bucket].waits()) advance(bucket);
    }
    deadline = {};
  }
}

/// Nothing has come for a while.
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
