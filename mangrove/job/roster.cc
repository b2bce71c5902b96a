#include "mangrove/job/roster.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/printable.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/net/node_name.h"

namespace mangrove::job {
namespace {

constexpr int kMisses = 3;       // in a row, before a worker is left out for good
constexpr int kQuestions = 3;    // for a hello, before it is reported that a worker says no hello
constexpr double kPatience = 3;  // timeouts without a worker to work with, before the job fails

}  // namespace

Error failure_in_hello(int code, const std::string& message) {
  const bool is_known = code >= 1 && code <= static_cast<int>(Code::data_loss);
  return make_error(is_known ? static_cast<Code>(code) : Code::internal, cut_short(message));
}

Roster::Roster(const RoleContext& context, Owner& owner, Words words, Seconds timeout)
    : context_(context),
      owner_(owner),
      words_(std::move(words)),
      timeout_(timeout),
      waiting_since_(context.clock.now()),
      last_useful_(waiting_since_),
      last_failure_(make_error(Code::unavailable, "no " + words_.worker + " is left")) {
  add_newcomers();
}

std::string Roster::names(const net::RankSet& ranks) const {
  std::vector<std::string> words;
  for (const net::Rank rank : ranks) words.push_back(name(rank));
  return join_words(words);
}

std::string Roster::name(net::Rank rank) const {
  return net::node_name(context_.endpoint, rank);
}

void Roster::add_newcomers() {
  const int size = context_.endpoint.size();
  for (auto rank = static_cast<net::Rank>(members_.size()) + 1; rank < size; ++rank)
    members_[rank].next_question = context_.clock.after(timeout_);
}

void Roster::set_data(Introduction data) {
  data_ = std::move(data);
  takes_without_data_ = true;
}

void Roster::begin_waiting() {
  waiting_since_ = context_.clock.now();
}

bool Roster::is_gathered() const {
  const net::RankSet ranks = heard();
  const auto has_said_hello = [&](net::Rank rank) { return members_.at(rank).said_hello; };
  if (!ranks.empty() && std::ranges::all_of(ranks, has_said_hello)) return true;
  return context_.clock.now() - waiting_since_ >= timeout_ &&
         std::ranges::any_of(ranks, [&](net::Rank rank) { return tells_data(members_.at(rank)); });
}

void Roster::choose_data() {
  std::map<std::string, int> votes;
  int most = 0;
  for (const auto& [rank, member] : members_)
    if (tells_data(member)) most = std::max(most, ++votes[member.introduction.data]);
  for (const auto& [rank, member] : members_)
    if (!data_ && tells_data(member) && votes[member.introduction.data] == most) data_ = member.introduction;
  if (!data_) return;
  for (const auto& [rank, member] : members_)
    if (member.state == State::starting && member.said_hello) admit(rank);
}

void Roster::end_gathering() {
  is_gathering_ = false;
  for (const LeftOut& out : std::exchange(left_out_, {})) owner_.left_out(out.ranks, out.why);
}

Error Roster::why_all_left() const {
  if (left_out_.empty()) return last_failure_;
  Error why = left_out_.front().why.context(names(left_out_.front().ranks));
  for (auto out = left_out_.begin() + 1; out != left_out_.end(); ++out)
    why.message += "; " + names(out->ranks) + ": " + out->why.message;
  return why;
}

Status Roster::check_left() const {
  return heard().empty() ? Status(why_all_left()) : Status();
}

Status Roster::check_patience() {
  MG_RETURN_IF_ERROR(check_left());
  const Instant now = context_.clock.now();
  const bool is_useful = std::ranges::any_of(members_, [&](const auto& entry) {
    const Member& member = entry.second;
    return member.state == State::present || (member.state == State::starting && tells_data(member));
  });
  if (is_useful) last_useful_ = now;
  const Seconds waited = now - std::max(waiting_since_, last_useful_);
  if (waited <= kPatience * timeout_) return {};
  std::string names;
  for (const net::Rank rank : heard()) names += (names.empty() ? "" : ", ") + name(rank);
  const std::string with_data = takes_without_data_ && !data_ ? " with the data set" : "";
  return make_error(Code::unavailable, "no " + words_.worker + with_data + " has answered for " +
                                           format_seconds(waited) + " (" + names + "); " + words_.timeout + " is " +
                                           format_seconds(timeout_));
}

void Roster::take_hello(net::Rank rank, Introduction introduction) {
  Member& member = members_.at(rank);
  member.introduction = std::move(introduction);
  member.said_hello = true;
  if (!member.owes_answer) set_idle(rank, false);
  if (data_) admit(rank);
}

/// Whatever state it is in: a worker may say hello again, and say something else.
void Roster::admit(net::Rank rank) {
  Member& member = members_.at(rank);
  if (!takes_without_data_ && !has_data(rank)) {
    return leave_out(rank, make_error(Code::failed_precondition,
                                      "the data set differs: " + member.introduction.description + ", others have " +
                                          data_->description + " (names and sample shape count too)"));
  }
  if (std::exchange(member.questions, 0) > kQuestions) owner_.is_back(rank);
  come_back(rank);
  member.state = State::present;
}

void Roster::hear_late(net::Rank rank) {
  members_.at(rank).has_worked = true;
  hear(rank);
}

void Roster::hear(net::Rank rank) {
  Member& member = members_.at(rank);
  member.questions = 0;
  member.owes_answer = false;
  set_idle(rank, false);
  come_back(rank);
}

void Roster::come_back(net::Rank rank) {
  Member& member = members_.at(rank);
  if (member.state != State::silent) return;
  member.state = State::present;
  owner_.is_back(rank);
}

void Roster::set_idle(net::Rank rank, bool is_idle) {
  if (std::exchange(members_.at(rank).is_idle, is_idle) != is_idle) context_.idle(rank, is_idle);
}

void Roster::forget_misses(net::Rank rank) {
  Member& member = members_.at(rank);
  member.misses = 0;
  member.has_worked = true;
  member.owes_answer = false;
  set_idle(rank, false);
}

void Roster::note_no_answer(net::Rank rank) {
  Member& member = members_.at(rank);
  member.owes_answer = true;
  if (!member.has_worked) set_idle(rank, true);
}

/// A silent worker is asked for a sign of life now and then: it may be slow, or the work may never have reached it.
void Roster::miss(net::Rank rank) {
  Member& member = members_.at(rank);
  member.state = State::silent;
  member.next_question = context_.clock.now();
  note_no_answer(rank);
  if (++member.misses < kMisses) return;
  leave_out(rank, make_error(Code::unavailable, std::to_string(kMisses) + " times in a row no answer within " +
                                                    format_seconds(timeout_) + " (" + words_.timeout + ")"));
}

void Roster::leave_out_idle(net::Rank rank, const Error& why) {
  set_idle(rank, true);
  leave_out(rank, why);
}

void Roster::remove(net::Rank rank, const Error& why) {
  members_.at(rank).state = State::out;
  members_.at(rank).said_hello = false;
  last_failure_ = why;
}

void Roster::leave_out(net::Rank rank, const Error& why) {
  const Error named = why.context(name(rank));
  remove(rank, named);
  members_.at(rank).failure = named;
  tell_left_out(rank, why);
}

void Roster::tell_left_out(net::Rank rank, const Error& why) {
  if (!is_gathering_) return owner_.left_out({rank}, why);
  const auto same = std::ranges::find_if(
      left_out_, [&](const LeftOut& out) { return out.why.code == why.code && out.why.message == why.message; });
  LeftOut& out = same != left_out_.end() ? *same : left_out_.emplace_back(LeftOut{{}, why});
  out.ranks.insert(std::ranges::upper_bound(out.ranks, rank), rank);
}

void Roster::drop_gone() {
  const net::Members there = context_.endpoint.members();
  for (const net::Rank rank : heard()) {
    if (there.alive(rank)) continue;
    remove(rank,
           make_error(Code::unavailable, "no " + words_.worker + " is left; the last one lost was " + name(rank)));
    owner_.lost(rank);
  }
}

void Roster::ask_the_silent() {
  const Instant now = context_.clock.now();
  for (auto& [rank, member] : members_) {
    const bool is_unheard = member.state == State::starting && !member.said_hello;
    if ((member.state != State::silent && !is_unheard) || now < member.next_question) continue;
    member.next_question = now + timeout_;
    if (is_unheard) ask_unheard(rank);
    owner_.ask_for_hello(rank);
  }
}

/// It has not said hello for a timeout.
void Roster::ask_unheard(net::Rank rank) {
  set_idle(rank, true);
  if (++members_.at(rank).questions != kQuestions + 1) return;
  tell_left_out(
      rank, make_error(Code::unavailable, "it has not said hello for " + format_seconds((kQuestions + 1) * timeout_) +
                                              "; " + words_.timeout + " is " + format_seconds(timeout_)));
}

net::RankSet Roster::with_state(State first, State last) const {
  net::RankSet ranks;
  for (const auto& [rank, member] : members_)
    if (member.state >= first && member.state <= last) ranks.push_back(rank);
  return ranks;
}

}  // namespace mangrove::job
