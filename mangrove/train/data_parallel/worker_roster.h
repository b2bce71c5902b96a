#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "mangrove/job/role.h"
#include "mangrove/job/roster.h"
#include "mangrove/train/compression/server_codecs.h"
#include "mangrove/train/data_parallel/assignment.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/peer_waits.h"
#include "mangrove/train/data_parallel/transfers.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/reports.h"

namespace mangrove::train {

/// The workers of a job as the server sees them: the job's roster, and who of it has work, who is ready for some, and
/// what they answer. Ranks that join the running job are taken in as those that come back are: when they have said that
/// they have the same data.
/// threads: one at a time.
class WorkerRoster final : private job::Roster::Owner {
 public:
  /// timeout: a worker with work that is silent for longer is dropped from it. codecs: of training.
  WorkerRoster(job::RoleContext& context, Reports& reports, ServerCodecs& codecs, Seconds timeout);

  /// Waits until every worker has said what data it has, or until the timeout if at least one has (the others may still
  /// come in later). Workers whose data differs from that of the majority, or who cannot take part, are left out, with
  /// an event. Returns what the data is like. errors: as next(), and cancelled when the job is asked to stop.
  Result<Hello> gather();

  /// Alive and idle, by rank.
  net::RankSet ready() const;
  /// Those, and the ones that have work, by rank.
  net::RankSet in_use() const;
  /// How many there are, with those whose work is abandoned.
  std::size_t count() const { return roster_.present().size(); }
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
  /// This worker gets no more work. If it is busy, it is in the news as "failed". error: without its name.
  void leave_out(net::Rank rank, const Error& error) { roster_.leave_out(rank, error); }

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

  const Transfers& transfers() const { return transfers_; }

 private:
  enum class State { idle, busy, abandoned };
  struct Worker {
    State state = State::idle;  // idle: it is ready, if the roster has it as present
    std::int64_t micro_batch = 0;
    Assignment assignment;
    Deadline deadline;                // of its answer
    std::optional<Instant> answered;  // the last time, until it is given work
    SpeedMeter speed;
  };

  void ask_for_hello(net::Rank rank) override;
  void left_out(const net::RankSet& ranks, const Error& why) override;
  void lost(net::Rank rank) override;
  void is_back(net::Rank rank) override { reports_.event(WorkerBack{reports_.node(rank)}); }
  void drop(net::Rank rank, const char* reason);
  net::RankSet with_state(State state) const;

  void send(net::Rank rank, Work work, std::string_view body, std::size_t float_bytes, std::size_t answer_bytes,
            Assignment::Encoding encoding);
  void take_hello(net::Rank rank, const std::string& payload);
  News take_answer(net::Rank rank, std::string payload);
  void take_waiting(net::Rank rank, const Waiting& waiting);
  Status take_body(Answered& answered);
  void drop_overdue();

  job::RoleContext& context_;
  Reports& reports_;
  ServerCodecs& codecs_;
  const Seconds timeout_;
  job::Roster roster_;
  Transfers transfers_;
  PeerWaits waits_;
  std::map<net::Rank, Worker> workers_;  // those that have been heard of
  std::uint64_t rounds_ = 0;             // given so far
  std::deque<Dropped> dropped_;          // news not yet told
  Hello reference_;                      // what the data is like
};

}  // namespace mangrove::train
