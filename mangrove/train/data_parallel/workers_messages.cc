#include <algorithm>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/workers.h"
#include "mangrove/train/tags.h"

// What workers send to the leader, and what it makes of it.
namespace mangrove::train {
namespace {

constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;  // bytes that a worker may say that it has sent

}  // namespace

Result<Workers::News> Workers::take(net::Message message) {
  if (message.tag == kAnswerTag) return take_answer(message.from, std::move(message.payload));
  take_hello(message.from, message.payload);
  return News();
}

void Workers::take_hello(net::Rank rank, const std::string& payload) {
  Worker& worker = workers_.at(rank);
  Hello hello;
  if (!hello.ParseFromString(payload)) {
    log_warn("hello cannot be read", {{"rank", rank}, {"bytes", payload.size()}});
    return;
  }
  if (hello.code() != 0) {
    const bool known = hello.code() >= 1 && hello.code() <= static_cast<int>(Code::data_loss);
    const Code code = known ? static_cast<Code>(hello.code()) : Code::internal;
    leave_out(rank, make_error(code, reports_.node(rank) + ": " + hello.message()));
    return;
  }
  if (hello.has_memory()) reports_.memory_plan(rank, hello.memory());
  worker.micro_batch = hello.memory().micro_batch();
  hello.clear_memory();  // a matter of each worker
  worker.hello = std::move(hello);
  worker.said_hello = true;
  const bool working = worker.state == State::busy || worker.state == State::abandoned;
  if (has_reference_ && !working) admit(rank);
}

void Workers::admit(net::Rank rank) {
  Worker& worker = workers_.at(rank);
  const Hello& hello = worker.hello;
  if (hello.SerializeAsString() == reference_.SerializeAsString()) {
    if (worker.state == State::silent) reports_.worker_back(rank);
    if (worker.state == State::abandoned) worker.misses = 0;
    worker.state = State::ready;
    return;
  }
  const auto describe = [](const Hello& h) {
    return std::to_string(h.train_samples()) + " + " + std::to_string(h.test_samples()) + " samples of " +
           std::to_string(h.classes_size()) + " classes";
  };
  leave_out(rank, make_error(Code::failed_precondition,
                             reports_.node(rank) + ": its data set differs: " + describe(hello) + ", the others have " +
                                 describe(reference_) + " (names and sample shape count too)"));
}

bool Workers::fits(const Answer& answer, const Worker& worker) const {
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < reference_.classes_size(); };
  return answer.count() == worker.samples && answer.predictions_size() == worker.predictions &&
         answer.truths_size() == worker.predictions && answer.losses_size() == worker.losses &&
         std::all_of(answer.truths().begin(), answer.truths().end(), is_class) &&
         std::all_of(answer.predictions().begin(), answer.predictions().end(), is_class);
}

/// A sign of life of a busy worker.
void Workers::take_waiting(net::Rank rank, const Waiting& waiting) {
  Worker& worker = workers_.at(rank);
  if (waiting.rank() == rank || !worker.peers.contains(waiting.rank())) {
    log_warn("waits for a rank that has no part in it", {{"rank", rank}, {"for", waiting.rank()}});
    return;
  }
  const Instant now = context_.clock.now();
  if (worker.waiting.rank() == 0 || waiting.progress() != worker.waiting.progress()) worker.waiting_since = now;
  worker.waiting = waiting;
  worker.deadline = now + timeout_;
}

/// Only who gets on may take longer.
void Workers::take_progress(Worker& worker, std::int64_t& so_far, std::int64_t now) {
  if (now <= so_far) return;
  so_far = now;
  worker.deadline = context_.clock.after(timeout_);
}

/// Decodes it where it must be.
Status Workers::take_body(Answered& answered) {
  Worker& worker = workers_.at(answered.rank);
  const std::string_view body = answered.body();
  const Answer& answer = answered.answer;
  if (worker.trains) {
    pushed_.add(answered.payload.size(), worker.body_bytes);
    const auto counted = [](std::int64_t count) { return std::clamp<std::int64_t>(count, 0, kMostCounted); };
    worker.to_peers = {counted(answer.peer_messages()), counted(answer.peer_bytes()),
                       counted(answer.peer_float_bytes())};
  }
  if (worker.encoding == Encoding::left_to_caller) return {};
  if (worker.encoding == Encoding::none) {
    if (body.size() == worker.body_bytes) return {};
    return make_error(Code::data_loss, "a body of " + std::to_string(body.size()) + " bytes, expected " +
                                           std::to_string(worker.body_bytes));
  }
  const bool has_states = worker.encoding == Encoding::update_and_states;
  MG_TRY(answered.payload, codecs_.update(answered.rank, answer, has_states, body));
  if (answer.has_chosen()) reports_.codec_chosen(answered.rank, answer.chosen());
  answered.body_offset = 0;
  return {};
}

Workers::News Workers::take_answer(net::Rank rank, std::string payload) {
  Worker& worker = workers_.at(rank);
  Answered answered{rank, {}, std::move(payload), 0, worker.version};
  const Result<net::PayloadParts> parts = net::split_payload(answered.payload);
  if (!parts.ok() || !answered.answer.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("answer cannot be read", {{"rank", rank}, {"bytes", answered.payload.size()}});
    return {};
  }
  answered.body_offset = answered.payload.size() - parts->body.size();
  const bool is_answer = answered.answer.round() == worker.round && fits(answered.answer, worker);
  if (is_answer) worker.speed.add(answered.answer.count(), answered.answer.compute_s());  // late ones count too
  if (worker.state == State::silent || worker.state == State::abandoned) {  // late: of no use, but the worker is
    if (worker.state == State::silent) reports_.worker_back(rank);
    if (worker.state == State::abandoned) worker.misses = 0;
    worker.state = State::ready;
    return {};
  }
  if (worker.state != State::busy || answered.answer.round() != worker.round) return {};
  if (answered.answer.has_waiting()) {
    take_waiting(rank, answered.answer.waiting());
    return {};
  }
  if (answered.answer.done() > 0) {
    if (answered.answer.done() <= worker.samples) take_progress(worker, worker.done, answered.answer.done());
    return {};
  }
  if (answered.answer.fetched() > 0) {
    take_progress(worker, worker.fetched, answered.answer.fetched());
    return {};
  }
  const Status taken = is_answer ? take_body(answered) : make_error(Code::data_loss, "not to what was asked");
  if (!taken.ok()) {
    log_warn("answer does not fit the work",
             {{"rank", rank}, {"round", worker.round}, {"reason", taken.error().message}});
    return {};
  }
  worker.state = State::ready;
  worker.misses = 0;
  worker.answered = context_.clock.now();
  if (answered.answer.has_memory()) reports_.memory_plan(rank, answered.answer.memory());
  reports_.peak_resident(rank, answered.answer.peak_resident());
  return answered;
}

}  // namespace mangrove::train
