#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <variant>

#include "mangrove/net/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/reports.h"

namespace mangrove::train {

/// The workers of a job as the server sees them: who can be given work, who has some, who is silent or gone.
/// threads: one at a time.
class Workers {
 public:
  /// timeout: a worker with work that is silent for longer is dropped from it.
  Workers(net::RoleContext& context, Reports& reports, Seconds timeout);

  /// Waits until every worker has said what data it has, or until the timeout if at least one has (the others may still
  /// come in later). Workers whose data differs from that of the majority, or who cannot take part, are left out, with
  /// an event. Returns what the data is like. errors: as next(), and cancelled when the job is asked to stop.
  Result<Hello> gather();

  /// Alive and idle, by rank.
  net::RankSet ready() const;
  bool any_busy() const;

  /// Sends work (its round is filled in) to a ready worker; it is busy until it is in the news.
  void give(net::Rank rank, Work work, std::span<const float> values);

  struct Answered {
    net::Rank rank;
    Answer answer;            // fits what was given
    std::string payload;      // that it came in
    std::size_t body_offset;  // of the gradient in it
    std::string_view body() const { return std::string_view(payload).substr(body_offset); }
  };
  struct Dropped {
    net::Rank rank;
    std::string reason;  // "lost", "silent" or "failed"
  };
  using News = std::variant<std::monostate, Answered, Dropped>;
  /// What happens next, or nothing for a fifth of a second. Every worker that was given work is in the news exactly
  /// once. errors: unavailable: no worker is left, or none has answered for long (three times the timeout); if all
  /// failed, the last one's error; cancelled.
  Result<News> next();

  /// Tells all that are alive that the job is done.
  void end();

 private:
  enum class State { starting, ready, busy, silent, out };
  struct Worker {
    State state = State::starting;
    Hello hello;
    bool said_hello = false;
    std::uint64_t round = 0;  // of the work it was given last
    int samples = 0;          // in that work
    int predictions = 0;      // that the answer must hold
    int losses = 0;           // the same
    std::size_t body_bytes = 0;
    Deadline deadline;  // of its answer
    Instant next_ping;  // while silent or starting
    int misses = 0;     // deadlines since its last answer
  };

  Result<News> take(net::Message message);
  void take_hello(net::Rank rank, const std::string& payload);
  News take_answer(net::Rank rank, std::string payload);
  bool fits(const Answer& answer, const Worker& worker) const;
  void admit(net::Rank rank);
  void leave_out(net::Rank rank, const Error& error);
  void drop_gone();
  void drop_overdue(Instant now);
  void miss(net::Rank rank, Instant now);
  void ping(net::Rank rank, Instant now);
  void choose_reference();
  net::RankSet ranks_not_out() const;
  Status check_anyone_left(Instant now);

  net::RoleContext& context_;
  Reports& reports_;
  Seconds timeout_;
  std::map<net::Rank, Worker> workers_;
  std::uint64_t rounds_ = 0;     // given so far
  std::deque<Dropped> dropped_;  // news not yet told
  Hello reference_;              // what the data is like
  bool has_reference_ = false;
  Instant last_useful_;  // when a worker was ready or busy last
  Error last_failure_;
};

}  // namespace mangrove::train
