#include "mangrove/train/data_parallel/workers.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/pipeline/places.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr Seconds kPollInterval = 0.2;  // how often a caller of next() may look at its stop token
constexpr int kMisses = 3;              // in a row, before a worker is left out for good
constexpr double kPatience = 3;         // timeouts without any usable worker before the job fails

/// Samples that the worker will answer with classes of; in a pipeline only the last stage has them.
std::int64_t classified_by(net::Rank rank, const Work& work) {
  if (work.kind() != Work::EVALUATE) return 0;
  if (!work.has_pipeline()) return work.samples_size();
  const auto place = place_of(work.pipeline(), rank);
  if (!place || static_cast<int>(place->stage) + 1 < work.pipeline().stages_size()) return 0;
  return samples_at(work.pipeline(), *place, work.samples_size(), work.batch());
}

}  // namespace

Workers::Workers(net::RoleContext& context, Reports& reports, ServerCodecs& codecs, Seconds timeout)
    : context_(context),
      reports_(reports),
      codecs_(codecs),
      timeout_(timeout),
      last_useful_(context.clock.now()),
      last_failure_(make_error(Code::unavailable, "no worker is left")) {
  add_newcomers(last_useful_);
}

void Workers::add_newcomers(Instant now) {
  const int size = context_.endpoint.size();
  for (auto rank = static_cast<net::Rank>(workers_.size()) + 1; rank < size; ++rank)
    workers_[rank].next_ping = now + timeout_;
}

net::RankSet Workers::ready() const {
  net::RankSet ranks;
  for (const auto& [rank, worker] : workers_) {
    if (worker.state == State::ready) ranks.push_back(rank);
  }
  return ranks;
}

net::RankSet Workers::in_use() const {
  net::RankSet ranks;
  for (const auto& [rank, worker] : workers_) {
    if (worker.state == State::ready || worker.state == State::busy) ranks.push_back(rank);
  }
  return ranks;
}

std::size_t Workers::count() const {
  return in_use().size() + static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [](const auto& e) {
           return e.second.state == State::abandoned;
         }));
}

bool Workers::any_busy() const {
  return !dropped_.empty() || std::any_of(workers_.begin(), workers_.end(),
                                          [](const auto& entry) { return entry.second.state == State::busy; });
}

std::vector<std::int64_t> Workers::micro_batches() const {
  std::vector<std::int64_t> sizes;
  for (const auto& [rank, worker] : workers_) sizes.push_back(worker.micro_batch);
  return sizes;
}

Balance::Speeds Workers::speeds(const net::RankSet& ranks) const {
  Balance::Speeds speeds;
  for (const net::Rank rank : ranks) speeds[rank] = workers_.at(rank).speed.speed();
  return speeds;
}

net::RankSet Workers::ranks_not_out() const {
  net::RankSet ranks;
  for (const auto& [rank, worker] : workers_) {
    if (worker.state != State::out) ranks.push_back(rank);
  }
  return ranks;
}

Result<Hello> Workers::gather() {
  const Deadline deadline = context_.clock.after(timeout_);
  while (true) {
    if (context_.stop.stop_requested()) return make_error(Code::cancelled, "stopped before training began");
    int heard = 0, starting = 0;
    for (const auto& [rank, worker] : workers_) {
      if (worker.state != State::starting) continue;
      worker.said_hello ? ++heard : ++starting;
    }
    if (heard > 0 && (starting == 0 || context_.clock.now() >= deadline)) break;
    MG_RETURN_IF_ERROR(next());
  }
  choose_reference();
  return reference_;
}

/// The data that most workers have; among equals that of the lowest rank.
void Workers::choose_reference() {
  std::map<std::string, int> votes;
  int most = 0;
  for (const auto& [rank, worker] : workers_) {
    if (worker.said_hello) most = std::max(most, ++votes[worker.hello.SerializeAsString()]);
  }
  for (const auto& [rank, worker] : workers_) {
    if (has_reference_ || !worker.said_hello || votes[worker.hello.SerializeAsString()] < most) continue;
    reference_ = worker.hello;
    has_reference_ = true;
  }
  for (const auto& [rank, worker] : workers_) {
    if (worker.state == State::starting && worker.said_hello) admit(rank);
  }
}

/// The worker is busy with it from now on. float_bytes: what the body stands for.
void Workers::send(net::Rank rank, Work work, std::string_view body, std::size_t float_bytes,
                   std::size_t answer_bytes) {
  Worker& worker = workers_.at(rank);
  MG_CHECK(worker.state == State::ready);
  worker.state = State::busy;
  worker.round = ++rounds_;
  work.set_round(worker.round);
  worker.version = work.version();
  worker.samples = work.samples_size() * std::max<std::int64_t>(1, work.passes()) + work.parts();
  worker.done = 0;
  const std::int64_t classified = classified_by(rank, work);
  worker.predictions = static_cast<int>(classified);
  worker.losses = 0;
  if (classified > 0) worker.losses = static_cast<int>((work.samples_size() + work.batch() - 1) / work.batch());
  worker.body_bytes = answer_bytes;
  worker.trains = work.kind() == Work::TRAIN;
  worker.encoding = Encoding::none;
  worker.peers = {work.reduction().ranks().begin(), work.reduction().ranks().end()};
  for (const net::Rank other : ranks_of(work.pipeline())) worker.peers.insert(other);
  worker.waiting = {};
  worker.deadline = context_.clock.after(timeout_);
  if (worker.answered) work.set_held_s(context_.clock.now() - *std::exchange(worker.answered, std::nullopt));
  std::string payload = net::begin_payload(work.SerializeAsString(), body.size());
  payload += body;
  if (worker.trains) pulled_.add(payload.size(), float_bytes);
  context_.endpoint.send(rank, kWorkTag, std::move(payload));
}

void Workers::give(net::Rank rank, Work work, std::span<const float> values) {
  std::string body;
  body.reserve(values.size_bytes());
  net::append_floats(body, values);
  const std::size_t answer = work.kind() == Work::TRAIN ? values.size_bytes() : 0;
  send(rank, std::move(work), body, body.size(), answer);
}

void Workers::give_training(net::Rank rank, Work work, std::span<const float> values) {
  const std::string body = codecs_.body(rank, work, values);
  const bool has_states = work.states();
  send(rank, std::move(work), body, values.size_bytes(), values.size_bytes());
  if (!codecs_.decodes()) return;
  workers_.at(rank).encoding = has_states ? Encoding::update_and_states : Encoding::update;
}

void Workers::give(net::Rank rank, Work work, std::string_view state, std::size_t answer_floats, bool is_encoded) {
  send(rank, std::move(work), state, state.size(), answer_floats * sizeof(float));
  if (is_encoded) workers_.at(rank).encoding = Encoding::left_to_caller;
}

TransferStats Workers::among_peers() const {
  TransferStats all;
  for (const auto& [rank, worker] : workers_) all += worker.to_peers;
  return all;
}

void Workers::recall(net::Rank rank) {
  Worker& worker = workers_.at(rank);
  if (worker.state == State::busy) worker.state = State::ready;  // an answer to the old round is none to a new one
}

std::optional<net::Rank> Workers::stuck_on() const {
  const Instant now = context_.clock.now();
  std::map<net::Rank, int> waiters, lost;  // by rank; links with lost parts
  for (const auto& [rank, worker] : workers_) {
    if (worker.state != State::busy) continue;
    const Waiting& waiting = worker.waiting;
    if (waiting.rank() == 0 || now - worker.waiting_since < timeout_) return std::nullopt;
    ++waiters[waiting.rank()];
    const auto& sent = workers_.at(waiting.rank()).waiting.sent();
    const auto to_this = sent.find(rank);
    if (to_this == sent.end() || to_this->second <= waiting.received()) continue;
    ++lost[rank];
    ++lost[waiting.rank()];
  }
  const auto& blamed = lost.empty() ? waiters : lost;
  const auto most =
      std::max_element(blamed.begin(), blamed.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == blamed.end() ? std::nullopt : std::optional(most->first);
}

void Workers::abandon(net::Rank rank) {
  Worker& worker = workers_.at(rank);
  MG_CHECK(worker.state == State::busy);
  worker.state = State::abandoned;
}

Result<Workers::News> Workers::next() {
  const Instant now = context_.clock.now();
  add_newcomers(now);
  drop_overdue(now);
  if (!dropped_.empty()) {
    News news = std::move(dropped_.front());
    dropped_.pop_front();
    return news;
  }
  MG_RETURN_IF_ERROR(check_anyone_left(now));
  Deadline deadline = now + kPollInterval;
  for (const auto& [rank, worker] : workers_) {
    if (worker.state == State::busy) deadline = std::min(deadline, worker.deadline);
  }
  Result<net::Message> message = context_.endpoint.recv_any(ranks_not_out(), {kHelloTag, kAnswerTag}, deadline);
  if (message.ok()) return take(std::move(*message));
  if (message.code() == Code::unavailable) drop_gone();
  if (message.code() == Code::cancelled) return message.error();
  return News();
}

Status Workers::check_anyone_left(Instant now) {
  const net::RankSet ranks = ranks_not_out();
  if (ranks.empty()) return last_failure_;
  const bool useful = std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.state == State::ready || entry.second.state == State::busy ||
           entry.second.state == State::abandoned || (entry.second.state == State::starting && entry.second.said_hello);
  });
  if (useful) last_useful_ = now;
  if (now - last_useful_ <= kPatience * timeout_) return {};
  std::string names;
  for (const net::Rank rank : ranks) names += (names.empty() ? "" : ", ") + reports_.node(rank);
  return make_error(Code::unavailable, "no worker has answered for " + format_seconds(now - last_useful_) + " (" +
                                           names + "); step_timeout_s is " + format_seconds(timeout_));
}

void Workers::leave_out(net::Rank rank, const Error& error) {
  Worker& worker = workers_.at(rank);
  if (worker.state == State::busy) dropped_.push_back({rank, "failed"});
  worker.state = State::out;
  worker.said_hello = false;
  codecs_.forget(rank);
  last_failure_ = error;
  reports_.worker_left_out(rank, error.message);
}

void Workers::drop_gone() {
  const net::Members members = context_.endpoint.members();
  for (auto& [rank, worker] : workers_) {
    if (worker.state == State::out || members.alive(rank)) continue;
    if (worker.state == State::busy) dropped_.push_back({rank, "lost"});
    codecs_.forget(rank);
    worker.state = State::out;
    worker.said_hello = false;
    last_failure_ = make_error(Code::unavailable, "no worker is left; the last one lost was " + reports_.node(rank));
  }
}

void Workers::miss(net::Rank rank, Instant now) {
  Worker& worker = workers_.at(rank);
  if (worker.state == State::busy) dropped_.push_back({rank, "silent"});
  worker.state = State::silent;
  codecs_.forget(rank);
  worker.next_ping = now;
  if (++worker.misses < kMisses) return;
  leave_out(rank, make_error(Code::unavailable, reports_.node(rank) + ": " + std::to_string(kMisses) +
                                                    " times in a row no answer within " + format_seconds(timeout_) +
                                                    " (step_timeout_s)"));
}

/// A silent worker is asked for a sign of life now and then: it may be slow, or the work may never have reached it.
void Workers::drop_overdue(Instant now) {
  for (auto& [rank, worker] : workers_) {
    const bool working = worker.state == State::busy || worker.state == State::abandoned;
    if (working && now >= worker.deadline) miss(rank, now);
    const bool unheard = worker.state == State::starting && !worker.said_hello;
    if ((worker.state == State::silent || unheard) && now >= worker.next_ping) ping(rank, now);
  }
}

void Workers::ping(net::Rank rank, Instant now) {
  workers_.at(rank).next_ping = now + timeout_;
  Work work;
  work.set_kind(Work::PING);
  context_.endpoint.send(rank, kWorkTag, net::begin_payload(work.SerializeAsString(), 0));
}

void Workers::end() {
  Work work;
  work.set_kind(Work::END);
  const std::string payload = net::begin_payload(work.SerializeAsString(), 0);
  for (const auto& [rank, worker] : workers_) context_.endpoint.send(rank, kWorkTag, payload);
}

}  // namespace mangrove::train
