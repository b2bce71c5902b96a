#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>

#include "mangrove/net/role.h"
#include "mangrove/train/compression/server_codecs.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/reports.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

/// The workers of a job as the server sees them: who can be given work, who has some, who is silent or gone. Ranks that
/// join the running job are taken in as those that come back are: when they have said that they have the same data.
/// threads: one at a time.
class Workers {
 public:
  /// timeout: a worker with work that is silent for longer is dropped from it. codecs: of training.
  Workers(net::RoleContext& context, Reports& reports, ServerCodecs& codecs, Seconds timeout);

  /// Waits until every worker has said what data it has, or until the timeout if at least one has (the others may still
  /// come in later). Workers whose data differs from that of the majority, or who cannot take part, are left out, with
  /// an event. Returns what the data is like. errors: as next(), and cancelled when the job is asked to stop.
  Result<Hello> gather();

  /// Alive and idle, by rank.
  net::RankSet ready() const;
  /// Those, and the ones that have work, by rank.
  net::RankSet in_use() const;
  /// How many there are, with those whose work is abandoned.
  std::size_t count() const;
  bool any_busy() const;
  /// Of each rank from 1 on, as its memory plan says; 0 where none was told.
  std::vector<std::int64_t> micro_batches() const;
  /// Of these ranks, as their answers tell.
  Balance::Speeds speeds(const net::RankSet& ranks) const;

  /// Sends work (its round is filled in) to a ready worker; it is busy until it is in the news.
  void give(net::Rank rank, Work work, std::span<const float> values);
  /// The same for work of training that is answered with an update of these values: through the job's codecs.
  void give_training(net::Rank rank, Work work, std::span<const float> values);
  /// The same for a part in a reduction, with the state or nothing; the answer's body has so many floats, flat or (if
  /// it says so) encoded.
  void give(net::Rank rank, Work work, std::string_view state, std::size_t answer_floats, bool is_encoded = false);

  /// Nobody waits for what this busy worker does any more: it is not in the news, and ready when it has answered.
  void abandon(net::Rank rank);
  /// What this worker does, if it is busy, is in vain: it is ready for other work, which will interrupt it.
  void recall(net::Rank rank);
  /// The work of all that are busy has come to a stand: each waits for another's part of a reduction, and no part has
  /// come for the timeout. The rank that stands in the way: an end of a link on which parts were lost, else the one
  /// that most of them wait for.
  std::optional<net::Rank> stuck_on() const;
  /// This worker gets no more work. If it is busy, it is in the news as "failed".
  void leave_out(net::Rank rank, const Error& error);

  struct Answered {
    net::Rank rank;
    Answer answer;            // fits what was given
    std::string payload;      // that it came in
    std::size_t body_offset;  // of the gradient in it
    std::int64_t version;     // of the values that it was given
    std::string_view body() const { return std::string_view(payload).substr(body_offset); }
  };
  struct Dropped {
    net::Rank rank;
    std::string reason;  // "lost", "silent" or "failed"
  };
  using News = std::variant<std::monostate, Answered, Dropped>;
  /// What happens next, or nothing for a fifth of a second. Every worker that was given work, and is not
  /// abandoned, is in the news exactly once. errors: unavailable: no worker is left, or none has answered for long
  /// (three times the timeout); if all failed, the last one's error; cancelled.
  Result<News> next();

  /// Tells all that are alive that the job is done.
  void end();

  /// Work of training, the answers to it, and what workers have told that they sent to each other.
  const TransferStats& pulled() const { return pulled_; }
  const TransferStats& pushed() const { return pushed_; }
  TransferStats among_peers() const;

 private:
  enum class State { starting, ready, busy, abandoned, silent, out };
  enum class Encoding { none, update, update_and_states, left_to_caller };
  struct Worker {
    State state = State::starting;
    Hello hello;
    std::int64_t micro_batch = 0;
    bool said_hello = false;
    std::uint64_t round = 0;             // of the work it was given last
    std::int64_t version = 0;            // in that work
    std::int64_t samples = 0;            // that its answer has to count
    int predictions = 0;                 // that the answer must hold
    int losses = 0;                      // the same
    std::size_t body_bytes = 0;          // of the answer, once it is decoded
    Encoding encoding = Encoding::none;  // of the answer
    bool trains = false;
    TransferStats to_peers;           // as it has told
    std::set<net::Rank> peers;        // in the reduction that it takes part in
    Waiting waiting;                  // what it has told last of the reduction; rank 0: nothing
    Instant waiting_since;            // without a part
    std::int64_t done = 0;            // samples, as it has told so far
    std::int64_t fetched = 0;         // bytes of data that it waits for, the same
    Deadline deadline;                // of its answer
    std::optional<Instant> answered;  // the last time, until it is given work
    Instant next_ping;                // while silent or starting
    int misses = 0;                   // deadlines since its last answer
    SpeedMeter speed;
  };

  void add_newcomers(Instant now);
  void send(net::Rank rank, Work work, std::string_view body, std::size_t float_bytes, std::size_t answer_bytes);
  Result<News> take(net::Message message);
  void take_hello(net::Rank rank, const std::string& payload);
  News take_answer(net::Rank rank, std::string payload);
  void take_waiting(net::Rank rank, const Waiting& waiting);
  void take_progress(Worker& worker, std::int64_t& so_far, std::int64_t now);
  bool fits(const Answer& answer, const Worker& worker) const;
  Status take_body(Answered& answered);
  void admit(net::Rank rank);
  void drop_gone();
  void drop_overdue(Instant now);
  void miss(net::Rank rank, Instant now);
  void ping(net::Rank rank, Instant now);
  void choose_reference();
  net::RankSet ranks_not_out() const;
  Status check_anyone_left(Instant now);

  net::RoleContext& context_;
  Reports& reports_;
  ServerCodecs& codecs_;
  Seconds timeout_;
  TransferStats pulled_, pushed_;
  std::map<net::Rank, Worker> workers_;
  std::uint64_t rounds_ = 0;     // given so far
  std::deque<Dropped> dropped_;  // news not yet told
  Hello reference_;              // what the data is like
  bool has_reference_ = false;
  Instant last_useful_;  // when a worker was ready or busy last
  Error last_failure_;
};

}  // namespace mangrove::train
