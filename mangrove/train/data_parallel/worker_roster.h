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

/// The workers of a job as the server sees them: the job's roster, which of its workers are busy or ready, and their
/// answers. A rank that joins the running job is taken in like one that comes back: after it has said that it has the
/// same data.
/// threads: one at a time.
class WorkerRoster final : private job::Roster::Owner {
 public:
  /// timeout: a worker with work that is silent for longer is dropped from the work. codecs: those of training.
  WorkerRoster(job::RoleContext& context, Reports& reports, ServerCodecs& codecs, Seconds timeout);

  /// Waits until every worker has described its data, or until the timeout if at least one has; the others may still
  /// come in later. Leaves out workers whose data differs from that of the majority, and workers that cannot take part;
  /// each is an event. Returns the description of the data. errors: as next(); cancelled (the job is asked to stop).
  Result<Hello> gather();

  /// The workers that are alive and idle, by rank.
  net::RankSet ready() const;
  /// The workers that are ready or busy, by rank.
  net::RankSet in_use() const;
  /// The number of workers, including those whose work is abandoned.
  std::size_t count() const { return roster_.present().size(); }
  bool any_busy() const;
  /// The micro-batch of each rank from 1 on, by its memory plan; 0: not told.
  std::vector<std::int64_t> micro_batches() const;
  /// The speeds of these ranks, by their own answers.
  Balance::Speeds speeds(const net::RankSet& ranks) const;

  /// Sends work to a ready worker and fills in its round. The worker is busy until it appears in the news.
  void give(net::Rank rank, Work work, std::span<const float> values);
  /// As give(), for training work whose answer is an update of these values. Both go through the job's codecs.
  void give_training(net::Rank rank, Work work, std::span<const float> values);
  /// As give_training(), for a worker that keeps its update and answers without a body.
  void give_kept_training(net::Rank rank, Work work, std::span<const float> values);
  /// As give(), for a part in a reduction. state: the body of the work; may be empty. answer_floats: the floats that
  /// the answer's body stands for. is_encoded: the body may be encoded, and the caller decodes it.
  void give(net::Rank rank, Work work, std::string_view state, std::size_t answer_floats, bool is_encoded = false);

  /// Nobody waits for this busy worker any more. It does not appear in the news, and is ready again when it has
  /// answered.
  void abandon(net::Rank rank);
  /// The current work of this worker, if it has some, is void. The worker is ready for other work, which will interrupt
  /// it.
  void recall(net::Rank rank);
  /// The rank that blocks all busy workers, if all of them have stopped: each waits for another's part of a reduction,
  /// and no part has come for the timeout. It is an end of a link on which parts were lost, or else the rank that most
  /// of them wait for.
  std::optional<net::Rank> stuck_on() const;
  /// A step came to a stand because of this worker: a message was lost, or a link is broken while both ends are well.
  /// The second time in a row it is left out. error: as of leave_out().
  void came_to_a_stand(net::Rank rank, const Error& error);
  /// A step came to its end: the next stand is the first in a row.
  void came_to_an_end() { stands_ = 0; }
  /// This worker gets no more work. If it is busy, it appears in the news as "failed". error: a message without the
  /// worker's name.
  void leave_out(net::Rank rank, const Error& error) { roster_.leave_out(rank, error); }

  struct Answered {
    net::Rank rank;
    Answer answer;            // checked against the work that was given
    std::string payload;      // the message that brought it
    std::size_t body_offset;  // where the gradient begins in the payload
    std::int64_t version;     // version of the values that the worker was given
    std::string_view body() const { return std::string_view(payload).substr(body_offset); }
  };
  struct Dropped {
    net::Rank rank;
    std::string reason;  // "lost", "silent" or "failed"
  };
  using News = std::variant<std::monostate, Answered, Dropped>;
  /// The next piece of news, or nothing after a fifth of a second. Every worker that was given work, and was not
  /// abandoned, appears in the news exactly once. errors: unavailable (no worker is left, or none has answered for
  /// three times the timeout); if all workers failed, the error of the last one; cancelled.
  Result<News> next();

  /// Tells all living workers that the job is done.
  void end();

  const Transfers& transfers() const { return transfers_; }

 private:
  enum class State { idle, busy, abandoned };
  struct Worker {
    State state = State::idle;  // an idle worker is ready if the roster has it as present
    std::int64_t micro_batch = 0;
    Assignment assignment;
    Deadline deadline;                // for its answer
    std::optional<Instant> answered;  // when it last answered; nothing while it has work
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
  int stands_ = 0;                       // steps in a row that came to a stand
  std::map<net::Rank, Worker> workers_;  // all that have sent a message
  std::uint64_t rounds_ = 0;             // rounds given out so far
  std::deque<Dropped> dropped_;          // news that next() has not returned yet
  Hello reference_;                      // description of the data
};

}  // namespace mangrove::train
