#include "mangrove/train/data_parallel/all_reduce_worker.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

// One step of all_reduce, at a worker:
//
//   1. It computes gradients, from the last layer to the first. ready() tells which are there.
//   2. A bucket whose gradients are all there follows its plan (plan_all_reduce): it sends, adds and takes parts. This
//      overlaps with the layers that are still computed: sending never waits, and ready() takes in whatever has come.
//   3. finish() waits for the buckets that are under way. Now `values` are the sums, the same bits on every rank.
//   4. The worker sends 1/P of the sums to the leader, which so gets each of them once: n/P floats.
//   5. The leader makes the update, and tells of it with the next work. Only then does the worker make it too:
//   follow().
//
// Bytes: along a ring each worker sends 2n (P-1)/P floats to the next one, and n/P to the leader.
//
// Why values never part: everyone has the same sums, and everyone makes the update or nobody does. When a rank is lost
// in between, the leader does not tell of an update, and the step begins anew with the others. It is the commit of two
// phases, with the leader's next work as the commit.
//
// A codec is used for each part on its way. A finished sum is encoded once, by the rank that made it, and passed on as
// it came; that rank, too, goes on from what is decoded from it. So the bits are the same everywhere again.
//
// A linear codec (power, structured_low_rank) needs no encoding on the way: what it makes of a bucket is summed as
// floats, in one all-reduce or in two that follow each other, and every rank decodes the same sum (ReducedRange). What
// it keeps for the next sum must be the same on all ranks too. So it is kept with the update, and begins anew with a
// state.

namespace {

constexpr std::size_t kBucket =
    std::size_t{128} * 1024;  // elements; half a megabyte is some 40 ms on the link of a small board

/// No bucket has both divided parameters and others.
std::vector<Bucket> buckets_of(const Graph& graph, const std::vector<bool>& divided) {
  std::vector<std::size_t> sizes;
  for (const std::string& parameter : graph.parameters())
    sizes.push_back(static_cast<std::size_t>(graph.value(parameter).shape.elements()));
  std::vector<Bucket> buckets;
  for (std::size_t last = sizes.size(); last > 0;) {  // parameters [first, last) are alike
    std::size_t first = last - 1;
    while (first > 0 && divided[first - 1] == divided[last - 1]) --first;
    const std::size_t before =
        std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(first), std::size_t{0});
    for (Bucket bucket : plan_buckets(std::span(sizes).subspan(first, last - first), kBucket)) {
      bucket.first_parameter += first;
      bucket.elements.first += before;
      buckets.push_back(bucket);
    }
    last = first;
  }
  return buckets;
}

Hyperparameters of_worker(Hyperparameters recipe) {
  recipe.ema_decay = 0;  // the leader keeps the average
  return recipe;
}

}  // namespace

AllReduceWorker::AllReduceWorker(const TrainJob& job, const Hyperparameters& recipe, const Topology& topology,
                                 job::RoleContext& context, std::optional<net::Message>& interruption)
    : job_(job),
      recipe_(of_worker(recipe)),
      topology_(topology),
      context_(context),
      patience_(job.step_timeout_s() / 3),
      parts_(context, kPartTag, interruption),
      interruption_(interruption) {}

Result<std::unique_ptr<AllReduceWorker>> AllReduceWorker::create(const TrainJob& job, const Hyperparameters& recipe,
                                                                 job::RoleContext& context,
                                                                 std::optional<net::Message>& interruption) {
  MG_TRY(const Topology topology, parse_topology(job.topology()));
  return std::unique_ptr<AllReduceWorker>(new AllReduceWorker(job, recipe, topology, context, interruption));
}

Status AllReduceWorker::use(const Graph& graph, std::vector<bool> divided) {
  if (divided.empty()) divided.resize(graph.parameters().size());
  MG_CHECK(divided.size() == graph.parameters().size());
  model_ = nullptr;  // its memory is free for the next one
  MG_TRY(model_, GlobalModel::create(graph, recipe_));
  buckets_ = buckets_of(graph, divided);
  divided_ = std::move(divided);
  parameters_ = static_cast<std::size_t>(graph.parameter_elements());
  version_ = -1;
  sum_.clear();
  codecs_.reset();
  if (!is_plain(job_.codec())) codecs_.emplace(job_, graph);
  reset_reduced();
  return {};
}

bool AllReduceWorker::follow(const Work& work, std::string_view body) {
  const std::string sum = std::exchange(sum_, {});
  if (work.state()) {
    Result<learn::Checkpoint> state = learn::parse_checkpoint(body);
    if (!state.ok()) return false;
    state->average.clear();  // is the leader's
    if (!model_->restore(*state).ok()) return false;
    reset_reduced();
    version_ = work.version();
    return true;
  }
  if (version_ == work.version()) return true;
  const Update& update = work.update();
  const bool is_next = !sum.empty() && update.reduction() == sum_id_ && update.step() == version_ + 1;
  if (!is_next || work.version() != update.step()) return false;
  const GlobalModel::Part part{sum, codecs_ ? 1 : update.samples()};
  model_->step(std::span(&part, 1), update.learning_rate(), update.step());
  version_ = update.step();
  for (ReducedRange& range : reduced_) range.keep();
  return true;
}

/// As all ranks do that get a state.
void AllReduceWorker::reset_reduced() {
  reduced_.clear();
  if (!codecs_) return;
  for (const Bucket& bucket : buckets_) {
    std::unique_ptr<codec::ReducibleCodec> codec = codecs_->make_reducible(bucket.elements);
    if (codec != nullptr) reduced_.emplace_back(bucket.elements, std::move(codec));
  }
}

bool AllReduceWorker::begin(const Work& work, std::span<float> values, net::RankSet peers) {
  const net::RankSet group(work.reduction().ranks().begin(), work.reduction().ranks().end());
  if (std::find(group.begin(), group.end(), context_.endpoint.rank()) == group.end()) return false;
  id_ = work.reduction().id();
  round_ = work.round();
  values_ = values;
  broken_ = {};
  waited_ = 0;
  parts_.begin(id_, group);
  // nobody has made an update with what the last one was to be, and its residuals, if it did not come to an end
  const bool was_finished = std::exchange(is_finished_, false);
  if (codecs_ && (group != group_ || !was_finished)) codecs_->clear();
  group_ = group;
  peers_ = std::move(peers);
  finished_.clear();
  own_finished_.clear();
  sums_.clear();
  const auto add = [&](Range range, std::size_t missing, bool is_encoded, const net::RankSet& ranks) {
    ReducedRange* const reduced = is_encoded && !reduced_.empty() ? &reduced_[sums_.size()] : nullptr;
    sums_.push_back({.first = range.first,
                     .is_encoded = is_encoded && reduced == nullptr,
                     .reduced = reduced,
                     .count = range.count,
                     .missing = missing,
                     .ranks = &ranks,
                     .values = values.subspan(range.first, range.count),
                     .plan = reduced == nullptr ? plan_of(ranks, range.count) : std::vector<Transfer>()});
  };
  const std::size_t states = values.size() - parameters_;  // behind the first bucket's parameters
  for (const Bucket& bucket : buckets_) {
    const bool has_states = sums_.empty() && !has_states_apart();
    const Range range{bucket.elements.first, bucket.elements.count + (has_states ? states : 0)};
    add(range, bucket.parameters + (has_states ? 1 : 0), codecs_.has_value(), is_divided(bucket) ? peers_ : group_);
  }
  if (has_states_apart() && states > 0) add({parameters_, states}, 1, false, group_);
  return true;
}

/// The actions of this rank in a sum of this number of elements over these ranks.
std::vector<Transfer> AllReduceWorker::plan_of(const net::RankSet& ranks, std::size_t elements) const {
  const auto me = std::find(ranks.begin(), ranks.end(), context_.endpoint.rank()) - ranks.begin();
  return plan_all_reduce(ranks, static_cast<std::size_t>(me), topology_, elements);
}

/// Of this parameter, or of the states.
std::size_t AllReduceWorker::sum_of(std::size_t parameter) const {
  if (has_states_apart() && parameter == divided_.size()) return buckets_.size();
  const auto holds = [&](const Bucket& bucket) { return parameter >= bucket.first_parameter; };
  return static_cast<std::size_t>(std::find_if(buckets_.begin(), buckets_.end(), holds) - buckets_.begin());
}

void AllReduceWorker::ready(std::size_t parameter) {
  const std::size_t bucket = sum_of(parameter);
  if (bucket == sums_.size()) return;  // there are no states
  if (--sums_[bucket].missing == 0) begin_sum(static_cast<std::uint32_t>(bucket));
  if (broken_.ok()) broken_ = take_parts(Deadline{});
}

Result<bool> AllReduceWorker::finish() {
  const Instant asked = context_.clock.now();
  while (broken_.ok() && !std::all_of(sums_.begin(), sums_.end(), [](const Sum& sum) { return sum.done(); })) {
    broken_ = take_parts(context_.clock.after(patience_));
    if (waited_ == 0) waited_ = context_.clock.now() - asked;
  }
  MG_TRY(const bool goes_on, this->goes_on());
  if (!goes_on) return false;
  if (codecs_ && group_.size() == 1) {  // there was nobody to share it with but the leader
    for (std::uint32_t i = 0; i < buckets_.size(); ++i) finished(sums_[i], {0, sums_[i].values.size()});
  }
  net::append_floats(sum_, values_);
  sum_id_ = id_;
  is_finished_ = true;
  return true;
}

/// False: the reduction failed.
Result<bool> AllReduceWorker::goes_on() const {
  if (!broken_.ok() && !interruption_ && broken_.code() == Code::cancelled) return broken_.error();
  return broken_.ok();
}

Result<bool> AllReduceWorker::wait_for(const net::RankSet& from) {
  bool came = false;
  while (broken_.ok() && !came) {
    const Result<bool> waited = await(from, context_.clock.after(patience_));
    came = waited.ok() && *waited;
    if (!waited.ok()) broken_ = waited.error();
  }
  return goes_on();
}

void AllReduceWorker::begin_sum(std::uint32_t bucket) {
  Sum& sum = sums_[bucket];
  if (sum.reduced != nullptr) {
    sum.values = sum.reduced->begin(sum.values);
    sum.plan = plan_of(*sum.ranks, sum.values.size());
  }
  advance(bucket);
}

/// Goes on with a bucket, as far as the parts that are there allow. Of a linear codec there may be one sum after
/// another.
void AllReduceWorker::advance(std::uint32_t bucket) {
  Sum& sum = sums_[bucket];
  follow_plan(bucket);
  while (sum.reduced != nullptr && sum.is_at_end()) {
    sum.values = sum.reduced->next();
    if (sum.values.empty()) return finish_reduced(bucket);
    sum.plan = plan_of(*sum.ranks, sum.values.size());
    sum.next = 0;
    sum.count = 0;
    follow_plan(bucket);
  }
}

/// Every rank has the message of the sum. One of them is to give it to the leader, another one for each bucket.
void AllReduceWorker::finish_reduced(std::uint32_t bucket) {
  Sum& sum = sums_[bucket];
  const Range range = std::exchange(sum.reduced, nullptr)->range();
  std::string message = reduced_[bucket].message();
  sum.values = values_.subspan(range.first, range.count);
  MG_CHECK(codecs_->decode(RangeCodecs::kFinished, range, message, sum.values).ok());
  if (group_[bucket % group_.size()] == context_.endpoint.rank()) own_finished_.push_back(range);
  finished_[range.first] = std::move(message);
}

void AllReduceWorker::follow_plan(std::uint32_t bucket) {
  Sum& sum = sums_[bucket];
  for (; !sum.is_at_end(); ++sum.next) {
    const Transfer& transfer = sum.plan[sum.next];
    if (transfer.kind == Transfer::Kind::send || transfer.kind == Transfer::Kind::share) {
      send(bucket, transfer);
    } else if (!use_part(bucket, transfer)) {
      return;
    }
  }
}

void AllReduceWorker::send(std::uint32_t bucket, const Transfer& transfer) {
  Sum& sum = sums_[bucket];
  const std::span<float> floats = sum.values.subspan(transfer.range.first, transfer.range.count);
  if (sum.reduced != nullptr) return send_reduced(bucket, transfer);
  if (!sum.is_encoded || floats.empty()) return parts_.send(transfer.peer, bucket, floats);
  if (transfer.kind == Transfer::Kind::share)
    return parts_.send(transfer.peer, bucket, finished(sum, transfer.range), floats.size_bytes());
  const std::string message = codecs_->encode(context_.endpoint.rank(), of_all(sum, transfer.range), floats);
  parts_.send(transfer.peer, bucket, message, floats.size_bytes());
}

/// Counts as the elements that the first sum stands for; others only add to it.
void AllReduceWorker::send_reduced(std::uint32_t bucket, const Transfer& transfer) {
  const Sum& sum = sums_[bucket];
  std::string message;
  net::append_floats(message, sum.values.subspan(transfer.range.first, transfer.range.count));
  const std::size_t stands_for = sum.count * transfer.range.count / sum.values.size();
  parts_.send(transfer.peer, bucket, message, stands_for * sizeof(float));
}

/// The message of finished sums: as it came, or made once. All ranks, this one too, have what is decoded from it.
const std::string& AllReduceWorker::finished(Sum& sum, Range range) {
  const Range all = of_all(sum, range);
  const auto found = finished_.find(all.first);
  if (found != finished_.end() || range.count == 0) return finished_[all.first];
  const std::span<float> floats = sum.values.subspan(range.first, range.count);
  std::string message = codecs_->encode(RangeCodecs::kFinished, all, floats);
  MG_CHECK(codecs_->decode(RangeCodecs::kFinished, all, message, floats).ok());
  own_finished_.push_back(all);
  return finished_[all.first] = std::move(message);
}

bool AllReduceWorker::use_part(std::uint32_t bucket, const Transfer& transfer) {
  const auto part = parts_.take(transfer.peer, bucket);
  if (!part) return false;
  const Status used = add_or_take(sums_[bucket], transfer, part->body());
  if (!used.ok()) parts_.refuse(transfer.peer, bucket);
  return used.ok();
}

Status AllReduceWorker::add_or_take(Sum& sum, const Transfer& transfer, std::string_view body) {
  const bool adds = transfer.kind == Transfer::Kind::add;
  const auto into = sum.values.subspan(transfer.range.first, transfer.range.count);
  if (!sum.is_encoded || into.empty()) return adds ? net::add_floats(body, into) : net::read_floats(body, into);
  const Range all = of_all(sum, transfer.range);
  scratch_.resize(into.size());
  const net::Rank from = adds ? transfer.peer : RangeCodecs::kFinished;
  MG_RETURN_IF_ERROR(codecs_->decode(from, all, body, scratch_));
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = adds ? into[i] + scratch_[i] : scratch_[i];
  if (!adds) finished_[all.first] = body;
  return {};
}

std::string AllReduceWorker::share_of_sums(Answer& answer) const {
  std::string body;
  for (const Range& range : own_finished_) {
    const std::string& message = finished_.at(range.first);
    Share& share = *answer.add_shares();
    share.set_first(range.first);
    share.set_count(range.count);
    share.set_bytes(message.size());
    body += message;
  }
  append_share(false, group_, body);
  append_share(true, peers_, body);
  return body;
}

/// This rank's part of the sums of the parameters that are, or are not, divided. The states belong to the latter. With
/// a codec only they are left: the messages have the others.
void AllReduceWorker::append_share(bool divided, const net::RankSet& ranks, std::string& body) const {
  std::vector<Range> ranges;
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend() && !codecs_; ++bucket)
    if (is_divided(*bucket) == divided) ranges.push_back(bucket->elements);
  if (!divided) ranges.push_back({parameters_, values_.size() - parameters_});
  std::size_t elements = 0;
  for (const Range& range : ranges) elements += range.count;
  const auto me = std::find(ranks.begin(), ranks.end(), context_.endpoint.rank()) - ranks.begin();
  const Range part = part_of(elements, static_cast<std::size_t>(me), std::max<std::size_t>(1, ranks.size()));
  std::size_t before = 0;
  for (const Range& range : ranges) {
    const std::size_t first = std::clamp(part.first, before, before + range.count);
    const std::size_t last = std::clamp(part.first + part.count, first, before + range.count);
    net::append_floats(body, values_.subspan(range.first + first - before, last - first));
    before += range.count;
  }
}

/// Takes in all that has come for the buckets that are under way; waits for the first of it until the deadline.
Status AllReduceWorker::take_parts(Deadline deadline) {
  while (true) {
    net::RankSet from;
    for (const Sum& sum : sums_) {
      if (sum.waits()) from.push_back(sum.waits_for());
    }
    MG_TRY(const bool came, await(from, deadline));
    if (!came) return {};
    for (std::uint32_t bucket = 0; bucket < sums_.size(); ++bucket) {
      if (sums_[bucket].waits()) advance(bucket);
    }
    deadline = {};
  }
}

/// The leader is told when nothing has come by then.
Result<bool> AllReduceWorker::await(const net::RankSet& from, Deadline deadline) {
  MG_TRY(const bool came, parts_.wait(from, deadline));
  if (!came && deadline != Deadline{} && !from.empty()) tell_leader(from[0]);
  return came;
}

/// Nothing has come for a while.
void AllReduceWorker::tell_leader(net::Rank waiting_for) {
  Answer answer;
  answer.set_round(round_);
  parts_.describe_waiting(waiting_for, *answer.mutable_waiting());
  context_.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
