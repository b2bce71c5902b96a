#include "mangrove/sensors/worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"

namespace mangrove::sensors {
namespace {

constexpr std::int64_t kMostQuestions = 256;  // that a model has, or that are asked next
constexpr Bytes kMostHeldBytes = 64'000'000;  // of their samples; the last message may go beyond both
constexpr std::size_t kAtOnce = 32;           // messages of a source, before those of the next
constexpr Seconds kLookEvery = 0.2, kAskAgainAfter = 0.02, kTellSourceEvery = 10;

/// The model may take the question later.
bool is_for_now(Code code) {
  return code == Code::resource_exhausted || code == Code::unavailable;
}

/// Of sources with windows; at least 1.
std::size_t groups_of(const std::vector<std::unique_ptr<Source>>& sources) {
  std::size_t groups = 0;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i]->options.window.length > 0 && sources[i]->first == i) ++groups;
  return std::max<std::size_t>(groups, 1);
}

}  // namespace

Worker::Worker(serve::Models& models, std::shared_ptr<Inbox> inbox, std::vector<std::unique_ptr<Source>>& sources,
               Delivery delivery, Options options)
    : models_(models),
      inbox_(std::move(inbox)),
      sources_(sources),
      options_(std::move(options)),
      images_(options_.data_folder),
      delivery_(std::move(delivery)),
      series_(groups_of(sources)),
      told_(sources.size(), Instant{-1e9}) {
  for (const auto& source : sources_) counts_.sources.emplace_back().source = source->options.name;
}

void Worker::count(std::size_t source, std::uint64_t SourceCounts::*counter, std::uint64_t by) {
  const MutexLock lock(mutex_);
  counts_.sources[source].*counter += by;
}

SensorCounts Worker::counts() const {
  const MutexLock lock(mutex_);
  SensorCounts counts = counts_;
  for (std::size_t i = 0; i < sources_.size(); ++i) counts.sources[i].waiting = sources_[i]->queue.size();
  return counts;
}

bool Worker::is_idle() const {
  const bool are_empty = std::ranges::all_of(sources_, [](const auto& source) { return source->queue.size() == 0; });
  return are_empty && in_flight_ == 0 && waiting_.empty();
}

void Worker::run() {
  bool is_busy = false;
  for (;;) {
    const Seconds wait = is_busy ? 0 : waiting_.empty() ? kLookEvery : kAskAgainAfter;
    Inbox::Content content = inbox_->take(wait);
    is_busy = !content.answered.empty();
    finish(std::move(content.answered));
    if (clock_.now() >= ask_again_) ask_waiting();
    is_busy = take_messages() || is_busy;
    store_round();
    deliver(content.receipts);
    if (!content.is_stopping) continue;
    const bool is_done = is_idle() && delivery_.in_flight() == 0;
    if (is_done || clock_.now() >= content.until) break;
  }
  give_up();
}

/// Tells of all that the network could not take in time.
void Worker::give_up() {
  Inbox::Content content = inbox_->take(0);
  finish(std::move(content.answered));
  for (const Pending& question : std::exchange(waiting_, {}))
    fail(*question, make_error(Code::unavailable, "the server has been stopped before the network could take it"));
  store_round();
  deliver(content.receipts);
}

void Worker::deliver(const std::vector<Receipt>& receipts) {
  delivery_.pump(receipts, clock_.now());
  const MutexLock lock(mutex_);
  counts_.sent = delivery_.sent();
  counts_.refused = delivery_.refused();
  counts_.unsent = delivery_.unsent();
  counts_.waiting = delivery_.waiting();
  counts_.disk_errors = delivery_.disk_errors();
}

/// Until its id is stored, a message counts as one that is on its way.
void Worker::store_round() {
  delivery_.put(letters_, seen_, clock_.now());
  for (const std::string& id : seen_) ids_.erase(id);
  letters_.clear();
  seen_.clear();
}

bool Worker::has_room() const {
  return in_flight_ + std::ssize(waiting_) < kMostQuestions && held_ < kMostHeldBytes;
}

/// Some of each source in turn. Returns whether there were any.
bool Worker::take_messages() {
  bool had_any = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::size_t source = (next_source_ + i) % sources_.size();
    for (std::size_t taken = 0; taken < kAtOnce && has_room(); ++taken) {  // one message may be many windows
      std::vector<Message> next = sources_[source]->queue.take(1);
      if (next.empty()) break;
      had_any = true;
      read(source, std::move(next.front()));
    }
  }
  next_source_ = (next_source_ + 1) % sources_.size();
  return had_any;
}

void Worker::invalid(std::size_t source, Message& message, const Error& error) {
  count(source, &SourceCounts::invalid);
  if (message.reply) message.reply(error);
  if (const Instant now = clock_.now(); now - told_[source] >= kTellSourceEvery) {
    told_[source] = now;
    log_warn("message left out", {{"source", sources_[source]->options.name},
                                  {"topic", printable(cut_short(message.topic, 200))},
                                  {"why", printable(cut_short(error.message, 500))}});
  }
}

void Worker::read(std::size_t source, Message message) {
  if (const Status read = read_checked(source, message); !read.ok()) invalid(source, message, read.error());
}

Status Worker::read_checked(std::size_t number, Message& message) {
  const Source& source = *sources_[number];
  TopicFacts facts{.topic = message.topic, .source = source.options.name, .series = {}, .id = {}};
  MG_TRY(const Reading reading, decode_payload(message.payload, source.options.payload));
  if (reading.id) facts.id = *reading.id;
  if (!reading.id && !source.id.is_empty()) {
    MG_TRY(facts.id, source.id.text_of(facts));
  }
  if (source.options.once && (ids_.contains(facts.id) || delivery_.has_seen(facts.id, clock_.now()))) {
    count(number, &SourceCounts::duplicates);
    if (message.reply) message.reply(make_error(Code::already_exists, "this id has been answered"));
    return {};
  }
  if (facts.id.empty()) facts.id = source.options.name + "-" + delivery_.next_id(clock_.now());
  MG_TRY(facts.series, source.series.text_of(facts));
  return make_questions(number, message, std::move(facts), reading);
}

Status Worker::make_questions(std::size_t number, Message& message, TopicFacts facts, const Reading& reading) {
  Source& source = *sources_[number];
  const std::int64_t length = source.options.window.length;
  if (length == 0) {
    if (source.options.once) ids_.insert(facts.id);
    const auto question = std::make_shared<Question>(Question{.source = number,
                                                              .facts = std::move(facts),
                                                              .raw = std::move(message.payload),
                                                              .values = reading.values,
                                                              .reply = std::move(message.reply)});
    held_ += question->bytes();
    ask(question);
    return {};
  }
  if (reading.values.size() > 2 * static_cast<std::size_t>(length))
    return make_error(Code::invalid_argument, "it has more numbers than two windows");
  WindowCounts counts;
  auto windows = series_.add(source.group, facts.series, source.row, reading, message.arrived, counts);
  {
    const MutexLock lock(mutex_);
    WindowCounts& sum = counts_.sources[number].windows;
    sum = {.late = sum.late + counts.late,
           .ahead = sum.ahead + counts.ahead,
           .duplicate = sum.duplicate + counts.duplicate,
           .filled = sum.filled + counts.filled,
           .skipped = sum.skipped + counts.skipped,
           .jumps = sum.jumps + counts.jumps,
           .evicted = sum.evicted + counts.evicted};
  }
  if (source.options.once) {
    ids_.insert(facts.id);
    seen_.push_back(facts.id);
  }
  if (message.reply) message.reply(std::string(R"({"accepted":true})"));
  const Source& first = *sources_[source.first];
  for (std::vector<float>& window : windows) {
    TopicFacts of_window = facts;
    of_window.source = first.options.name;
    of_window.id = first.options.name + "-" + delivery_.next_id(clock_.now());
    const auto question = std::make_shared<Question>();
    question->source = source.first;
    question->facts = std::move(of_window);
    question->values = std::move(window);
    held_ += question->bytes();
    waiting_.push_back(question);
  }
  ask_waiting();
  return {};
}

void Worker::ask_waiting() {
  while (!waiting_.empty() && in_flight_ < kMostQuestions && clock_.now() >= ask_again_) {
    const Pending question = std::move(waiting_.front());
    waiting_.pop_front();
    ask(question);
  }
}

void Worker::ask(const Pending& question) {
  const SourceOptions& source = sources_[question->source]->options;
  const auto model = models_.find(source.model.empty() ? options_.model : source.model, "");
  if (!model.ok()) {
    inbox_->add({.question = question, .model = nullptr, .response = model.error()});
    ++in_flight_;
    return;
  }
  auto request = request_of(*question, source, (*model)->metadata(), images_);
  if (!request.ok()) return fail(*question, request.error());
  ++in_flight_;
  (*model)->infer(std::move(*request), [inbox = inbox_, question, model = *model](auto response) {
    inbox->add({.question = question, .model = model, .response = std::move(response)});
  });
}

void Worker::fail(Question& question, const Error& error) {
  count(question.source, &SourceCounts::failed);
  held_ -= question.bytes();
  if (sources_[question.source]->options.once) ids_.erase(question.facts.id);
  if (question.reply) question.reply(error);
  if (const Instant now = clock_.now(); now - told_[question.source] >= kTellSourceEvery) {
    told_[question.source] = now;
    log_warn("no answer", {{"source", sources_[question.source]->options.name},
                           {"id", question.facts.id},
                           {"why", printable(cut_short(error.message, 500))}});
  }
}

void Worker::finish(std::vector<Answered> answered) {
  for (Answered& one : answered) {
    --in_flight_;
    finish_one(one);
  }
}

void Worker::finish_one(Answered& answered) {
  Question& question = *answered.question;
  if (!answered.response.ok()) {
    const Error& error = answered.response.error();
    if (question.reply || !is_for_now(error.code)) return fail(question, error);
    waiting_.push_back(answered.question);
    ask_again_ = clock_.after(kAskAgainAfter);
    return;
  }
  const Source& source = *sources_[question.source];
  auto verdict = verdict_of(question, source.options, answered.model->metadata(), *answered.response);
  if (!verdict.ok()) return fail(question, verdict.error());
  if (const Status sent = send(source, question, *verdict); !sent.ok()) return fail(question, sent.error());
  count(question.source, verdict->is_undecided ? &SourceCounts::undecided : &SourceCounts::answered);
  if (source.options.once && source.options.window.length == 0) seen_.push_back(question.facts.id);
  held_ -= question.bytes();
  if (question.reply) question.reply(std::move(verdict->text));
}

/// An undecided sample goes up in place of its answer, if there is a topic for it.
Status Worker::send(const Source& source, const Question& question, const Verdict& verdict) {
  const bool goes_up = verdict.is_undecided && !source.undecided.is_empty();
  const TopicTemplate& chosen = goes_up ? source.undecided : source.answers;
  if (chosen.is_empty()) return {};
  MG_TRY(std::string topic, chosen.topic_of(question.facts));
  const std::string& sink = source.options.to.empty() ? source.options.name : source.options.to;
  const bool is_window = question.raw.empty();
  const std::string sample = !goes_up ? std::string() : is_window ? little_endian(question.values) : question.raw;
  letters_.push_back({.sink = sink, .topic = std::move(topic), .payload = goes_up ? sample : verdict.text});
  return {};
}

}  // namespace mangrove::sensors
