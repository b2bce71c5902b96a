#include "mangrove/train/data_parallel/worker_roster.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

using Encoding = Assignment::Encoding;

constexpr Seconds kPollInterval = 0.2;  // how often a caller of next() may look at its stop token
constexpr int kMostStands = 2;          // steps in a row that come to a stand, before a worker is left out

/// Of a hello without what is a matter of each worker.
job::Introduction introduction(const Hello& hello) {
  return {hello.SerializeAsString(), std::to_string(hello.train_samples()) + " + " +
                                         std::to_string(hello.test_samples()) + " samples of " +
                                         std::to_string(hello.classes_size()) + " classes"};
}

std::string without_body(Work::Kind kind) {
  Work work;
  work.set_kind(kind);
  return net::begin_payload(work.SerializeAsString(), 0);
}

}  // namespace

WorkerRoster::WorkerRoster(job::RoleContext& context, Reports& reports, ServerCodecs& codecs, Seconds timeout)
    : context_(context),
      reports_(reports),
      codecs_(codecs),
      timeout_(timeout),
      roster_(context, *this, {"worker", "step_timeout_s"}, timeout) {}

net::RankSet WorkerRoster::with_state(State state) const {
  net::RankSet ranks;
  for (const net::Rank rank : roster_.present())
    if (workers_.at(rank).state == state) ranks.push_back(rank);
  return ranks;
}

net::RankSet WorkerRoster::ready() const {
  return with_state(State::idle);
}

net::RankSet WorkerRoster::in_use() const {
  net::RankSet ranks = roster_.present();
  std::erase_if(ranks, [&](net::Rank rank) { return workers_.at(rank).state == State::abandoned; });
  return ranks;
}

bool WorkerRoster::any_busy() const {
  return !dropped_.empty() || !with_state(State::busy).empty();
}

std::vector<std::int64_t> WorkerRoster::micro_batches() const {
  std::vector<std::int64_t> sizes;
  for (const net::Rank rank : roster_.all()) {
    const auto worker = workers_.find(rank);
    sizes.push_back(worker == workers_.end() ? 0 : worker->second.micro_batch);
  }
  return sizes;
}

Balance::Speeds WorkerRoster::speeds(const net::RankSet& ranks) const {
  Balance::Speeds speeds;
  for (const net::Rank rank : ranks) speeds[rank] = workers_.at(rank).speed.speed();
  return speeds;
}

Result<Hello> WorkerRoster::gather() {
  const auto next_message = [this]() -> Status {
    if (context_.stop.stop_requested()) return make_error(Code::cancelled, "stopped before training began");
    MG_RETURN_IF_ERROR(next());
    return {};
  };
  MG_TRY(const job::Introduction* const data, roster_.gather(next_message));
  MG_CHECK(data != nullptr && reference_.ParseFromString(data->data));  // a hello without data is a failure
  return reference_;
}

/// The worker is busy with it from now on. float_bytes: what the body stands for.
void WorkerRoster::send(net::Rank rank, Work work, std::string_view body, std::size_t float_bytes,
                        std::size_t answer_bytes, Encoding encoding) {
  Worker& worker = workers_.at(rank);
  MG_CHECK(roster_.is_present(rank) && worker.state == State::idle);
  worker.state = State::busy;
  work.set_round(++rounds_);
  const std::int64_t fetched = worker.assignment.fetched;
  worker.assignment = Assignment(rank, work, answer_bytes, encoding);
  worker.assignment.fetched = fetched;
  waits_.begin(rank, work);
  worker.deadline = context_.clock.after(timeout_);
  if (worker.answered) work.set_held_s(context_.clock.now() - *std::exchange(worker.answered, std::nullopt));
  std::string payload = net::begin_payload(work.SerializeAsString(), body.size());
  payload += body;
  if (worker.assignment.trains) transfers_.sent(payload.size(), float_bytes);
  context_.endpoint.send(rank, kWorkTag, std::move(payload));
}

void WorkerRoster::give(net::Rank rank, Work work, std::span<const float> values) {
  std::string body;
  body.reserve(values.size_bytes());
  net::append_floats(body, values);
  const std::size_t answer = work.kind() == Work::TRAIN ? values.size_bytes() : 0;
  send(rank, std::move(work), body, body.size(), answer, Encoding::none);
}

void WorkerRoster::give_training(net::Rank rank, Work work, std::span<const float> values) {
  const std::string body = codecs_.body(rank, work, values);
  const Encoding update = work.states() ? Encoding::update_and_states : Encoding::update;
  send(rank, std::move(work), body, values.size_bytes(), values.size_bytes(),
       codecs_.decodes() ? update : Encoding::none);
}

void WorkerRoster::give_kept_training(net::Rank rank, Work work, std::span<const float> values) {
  const std::string body = codecs_.body(rank, work, values);
  send(rank, std::move(work), body, values.size_bytes(), 0, Encoding::none);
}

void WorkerRoster::give(net::Rank rank, Work work, std::string_view state, std::size_t answer_floats, bool is_encoded) {
  send(rank, std::move(work), state, state.size(), answer_floats * sizeof(float),
       is_encoded ? Encoding::left_to_caller : Encoding::none);
}

void WorkerRoster::recall(net::Rank rank) {
  Worker& worker = workers_.at(rank);
  if (worker.state == State::busy) worker.state = State::idle;  // an answer to the old round is none to a new one
}

void WorkerRoster::came_to_a_stand(net::Rank rank, const Error& error) {
  if (++stands_ < kMostStands) return;
  stands_ = 0;
  leave_out(rank, error);
}

std::optional<net::Rank> WorkerRoster::stuck_on() const {
  return waits_.stuck_on(with_state(State::busy), context_.clock.now(), timeout_);
}

void WorkerRoster::abandon(net::Rank rank) {
  Worker& worker = workers_.at(rank);
  MG_CHECK(worker.state == State::busy);
  worker.state = State::abandoned;
}

Result<WorkerRoster::News> WorkerRoster::next() {
  roster_.add_newcomers();
  drop_overdue();
  roster_.ask_the_silent();
  if (!dropped_.empty()) {
    News news = std::move(dropped_.front());
    dropped_.pop_front();
    return news;
  }
  MG_RETURN_IF_ERROR(roster_.check_patience());
  Deadline deadline = context_.clock.after(kPollInterval);
  for (const net::Rank rank : with_state(State::busy)) deadline = std::min(deadline, workers_.at(rank).deadline);
  Result<net::Message> message = context_.endpoint.recv_any(roster_.heard(), {kHelloTag, kAnswerTag}, deadline);
  if (message.ok() && message->tag == kAnswerTag) return take_answer(message->from, std::move(message->payload));
  if (message.ok()) {
    take_hello(message->from, message->payload);
    return News();
  }
  if (message.code() == Code::unavailable) roster_.drop_gone();
  if (message.code() == Code::cancelled) return message.error();
  return News();
}

void WorkerRoster::take_hello(net::Rank rank, const std::string& payload) {
  Hello hello;
  if (!hello.ParseFromString(payload)) {
    log_warn("hello cannot be read", {{"rank", rank}, {"bytes", payload.size()}});
    return;
  }
  if (hello.code() != 0) return leave_out(rank, job::failure_in_hello(hello.code(), hello.message()));
  if (hello.has_memory()) reports_.memory_plan(rank, hello.memory());
  workers_[rank].micro_batch = hello.memory().micro_batch();
  hello.clear_memory();
  roster_.take_hello(rank, introduction(hello));
}

/// Nothing more is expected of it.
void WorkerRoster::drop(net::Rank rank, const char* reason) {
  Worker& worker = workers_[rank];
  if (worker.state == State::busy) dropped_.push_back({rank, reason});
  worker.state = State::idle;
  codecs_.forget(rank);
}

void WorkerRoster::left_out(const net::RankSet& ranks, const Error& why) {
  for (const net::Rank rank : ranks) drop(rank, "failed");
  reports_.event(WorkerLeftOut{roster_.names(ranks), why.message});
}

void WorkerRoster::lost(net::Rank rank) {
  drop(rank, "lost");
}

void WorkerRoster::drop_overdue() {
  const Instant now = context_.clock.now();
  for (const net::Rank rank : roster_.present()) {
    const Worker& worker = workers_.at(rank);
    if (worker.state == State::idle || now < worker.deadline) continue;
    drop(rank, "silent");
    roster_.miss(rank);
  }
}

/// A sign of life of a busy worker.
void WorkerRoster::take_waiting(net::Rank rank, const Waiting& waiting) {
  const Instant now = context_.clock.now();
  if (waits_.take(rank, waiting, now)) {
    workers_.at(rank).deadline = now + timeout_;
  } else {
    log_warn("waits for a rank that has no part in it", {{"rank", rank}, {"for", waiting.rank()}});
  }
}

/// Decodes it where it must be.
Status WorkerRoster::take_body(Answered& answered) {
  const Assignment& assignment = workers_.at(answered.rank).assignment;
  const std::string_view body = answered.body();
  const Answer& answer = answered.answer;
  if (assignment.trains) transfers_.received(answered.rank, answer, answered.payload.size(), assignment.body_bytes);
  if (assignment.encoding == Encoding::left_to_caller) return {};
  if (assignment.encoding == Encoding::none) {
    if (body.size() == assignment.body_bytes) return {};
    return make_error(Code::data_loss, "a body of " + std::to_string(body.size()) + " bytes, expected " +
                                           std::to_string(assignment.body_bytes));
  }
  const bool has_states = assignment.encoding == Encoding::update_and_states;
  MG_TRY(answered.payload, codecs_.update(answered.rank, answer, has_states, body));
  if (answer.has_chosen()) {
    const ChosenCodec& chosen = answer.chosen();
    reports_.event(CodecChosen{.node = reports_.node(answered.rank),
                               .codec = cut_short(chosen.codec()),
                               .exchange = chosen.exchange_s(),
                               .plain = chosen.plain_s(),
                               .bytes_per_s = chosen.bytes_per_s(),
                               .why = cut_short(chosen.why())});
  }
  answered.body_offset = 0;
  return {};
}

WorkerRoster::News WorkerRoster::take_answer(net::Rank rank, std::string payload) {
  Worker& worker = workers_[rank];
  Answered answered{rank, {}, std::move(payload), 0, worker.assignment.version};
  const Answer& answer = answered.answer;
  const Result<net::PayloadParts> parts = net::split_payload(answered.payload);
  if (!parts.ok() || !answered.answer.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("answer cannot be read", {{"rank", rank}, {"bytes", answered.payload.size()}});
    return {};
  }
  answered.body_offset = answered.payload.size() - parts->body.size();
  const bool is_answer = worker.assignment.is_answered_by(answer, reference_.classes_size());
  if (is_answer) worker.speed.add(answer.count(), answer.compute_s());  // late ones count too
  if (roster_.is_silent(rank) || worker.state == State::abandoned) {    // late: of no use, but the worker is
    if (worker.state == State::abandoned) roster_.forget_misses(rank);
    is_answer ? roster_.hear_late(rank) : roster_.hear(rank);
    worker.state = State::idle;
    return {};
  }
  if (worker.state != State::busy || answer.round() != worker.assignment.round) return {};
  if (answer.has_waiting()) {
    take_waiting(rank, answer.waiting());
    return {};
  }
  if (Assignment::is_progress(answer)) {  // only who gets on may take longer
    if (worker.assignment.take_progress(answer)) worker.deadline = context_.clock.after(timeout_);
    return {};
  }
  const Status taken = is_answer ? take_body(answered) : make_error(Code::data_loss, "not to what was asked");
  if (!taken.ok()) {
    log_warn("answer does not fit the work",
             {{"rank", rank}, {"round", answer.round()}, {"reason", taken.error().message}});
    return {};
  }
  worker.state = State::idle;
  worker.answered = context_.clock.now();
  roster_.forget_misses(rank);
  if (answer.has_memory()) reports_.memory_plan(rank, answer.memory());
  reports_.peak_resident(rank, answer.peak_resident());
  return answered;
}

void WorkerRoster::ask_for_hello(net::Rank rank) {
  context_.endpoint.send(rank, kWorkTag, without_body(Work::PING));
}

void WorkerRoster::end() {
  for (const net::Rank rank : roster_.all()) context_.endpoint.send(rank, kWorkTag, without_body(Work::END));
}

}  // namespace mangrove::train
