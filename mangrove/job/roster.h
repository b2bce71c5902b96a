#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/job/role.h"

namespace mangrove::job {

/// What a worker says of its data when it is ready for work.
struct Introduction {
  std::string data;         // all that must be the same on all workers, as bytes
  std::string description;  // the same for people: "60 samples of 10 classes"
  bool knows_data = true;   // false: it has none, and can do only work that needs none
};

/// The error that a hello tells: why its worker cannot take part. code, message: as they were sent, whatever they are.
Error failure_in_hello(int code, const std::string& message);

/// The ranks from 1 on of a job as rank 0 sees them: who may be given work, who has not said hello yet, who is silent,
/// who was left out or is gone. A rank moves between these states so:
///
///     starting --hello, same data--> present --miss()--> silent --any sign--> present
///         any of them --other data, refusal, leave_out(), third miss() in a row, lost--> out, for good
///
/// A rank that says no hello is never given work, so it holds up nothing but gather(). After three questions that it
/// has not answered it is told of as left out. It may only be slow to prepare itself, so a hello still lets it in. A
/// rank that does nothing of what it was asked to do is idle (see RoleContext::idle).
///
/// What the data is like is what most workers say that have said hello first, see gather().
/// The roster sends nothing itself: its owner asks for a hello, and hands in what comes.
/// threads: one at a time.
class Roster {
 public:
  /// Hears of changes, and asks for what the roster needs.
  class Owner {
   public:
    /// The worker is to say hello: it has not, or is silent.
    virtual void ask_for_hello(net::Rank rank) = 0;
    /// These workers get no more work, all for the same reason. why: without their names.
    virtual void left_out(const net::RankSet& ranks, const Error& why) = 0;
    virtual void lost(net::Rank rank) = 0;
    /// It was silent.
    virtual void is_back(net::Rank) {}

   protected:
    ~Owner() = default;
  };

  /// How messages to people name things.
  struct Words {
    std::string worker = "worker";
    std::string timeout = "step_timeout_s";  // the job's key
  };

  /// All ranks that there are. timeout: how often a rank is asked for a hello; the patience of gather() and others is
  /// measured in it.
  Roster(const RoleContext& context, Owner& owner, Words words, Seconds timeout);
  Roster(const Roster&) = delete;

  /// Takes in ranks that have joined the job.
  void add_newcomers();
  /// Rank 0 has the data itself: workers without it may take part. Before gather().
  void set_data(Introduction data);
  /// Workers without data, or with other data, may take part. Before gather().
  void take_without_data() { takes_without_data_ = true; }

  /// Calls `next`, which receives a message and hands it in, until every rank that is not out has said hello, or until
  /// the timeout if at least one has that knows the data (after set_data(): any one). Then admits those that have the
  /// data, and leaves out the others; who says hello later is admitted then. The data is that of most workers, of the
  /// lowest rank among equals. The owner hears of those that were left out in the end, once for each reason; if none
  /// can take part, the error says why instead.
  /// Returns what the data is; null: nobody has it.
  /// errors: those of `next` and check_patience().
  template <class Next>
  Result<const Introduction*> gather(Next next) {
    begin_waiting();
    is_gathering_ = true;
    while (!is_gathered()) {
      MG_RETURN_IF_ERROR(check_patience());
      MG_RETURN_IF_ERROR(next());
    }
    choose_data();
    end_gathering();
    return data_ ? &*data_ : nullptr;
  }

  /// Patience begins anew, as somebody waits from now on, or ranks that have not said hello give a sign of life in
  /// another way.
  void begin_waiting();
  /// errors: unavailable, when three timeouts have passed since there was a worker to work with, or begin_waiting();
  /// check_left().
  Status check_patience();
  /// errors: why the last one went, when none is left: as it was left out (in gather(): as all were), or unavailable.
  Status check_left() const;

  /// A hello of a worker that can take part.
  void take_hello(net::Rank rank, Introduction introduction);
  /// Any other message that a worker means well with: it is not silent any more.
  void hear(net::Rank rank);
  /// It has done what it was asked to, but too late: it is not silent any more, and misses before count on.
  void hear_late(net::Rank rank);
  /// It has done what it was asked to: misses before do not count any more.
  void forget_misses(net::Rank rank);
  /// It has not answered in time. After the third time in a row it is left out; if it has worked before, it is slow
  /// and not idle.
  void miss(net::Rank rank);
  /// why: without its name.
  void leave_out(net::Rank rank, const Error& why);
  /// It has done nothing of what it was asked to do for a timeout, and may be asked again: it is idle, if it has not
  /// worked before.
  void note_no_answer(net::Rank rank);
  /// It does nothing of what it was asked to do, as its owner has seen. why: without its name.
  void leave_out_idle(net::Rank rank, const Error& why);
  /// To be called when a receive ends with `unavailable`.
  void drop_gone();
  /// Asks those for a hello that have not said it for a timeout, and those that are silent.
  void ask_the_silent();

  /// By rank: those that may be given work; those that are not out; all that there have been.
  net::RankSet present() const { return with_state(State::present, State::present); }
  net::RankSet heard() const { return with_state(State::starting, State::silent); }
  net::RankSet all() const { return with_state(State::starting, State::out); }
  bool is_present(net::Rank rank) const { return members_.at(rank).state == State::present; }
  bool is_silent(net::Rank rank) const { return members_.at(rank).state == State::silent; }
  /// "n0, n1 and n2"
  std::string names(const net::RankSet& ranks) const;
  /// Whether it says that it has the data that gather() chose. REQUIRES that gather() has ended.
  bool has_data(net::Rank rank) const { return members_.at(rank).introduction.data == data_->data; }
  /// Why it was left out, with its name; nothing: it was not, or it was lost.
  const std::optional<Error>& failure(net::Rank rank) const { return members_.at(rank).failure; }

 private:
  enum class State { starting, present, silent, out };  // in this order, see with_state()
  struct Member {
    State state = State::starting;
    bool said_hello = false;
    Introduction introduction;
    std::optional<Error> failure;
    Instant next_question;        // for a hello
    int questions = 0;            // without an answer, since it began
    int misses = 0;               // in a row
    bool has_worked = false;      // done something that it was asked to do
    bool owes_answer = false;     // it has not answered, and has done nothing since
    std::optional<bool> is_idle;  // as was last told; nothing: neither it nor its silence said anything yet
  };

  net::RankSet with_state(State first, State last) const;
  bool tells_data(const Member& member) const { return member.said_hello && (data_ || member.introduction.knows_data); }
  /// Workers that were left out for the same reason while others were waited for.
  struct LeftOut {
    net::RankSet ranks;
    Error why;
  };
  bool is_gathered() const;
  void end_gathering();
  Error why_all_left() const;
  void choose_data();
  void admit(net::Rank rank);
  void remove(net::Rank rank, const Error& why);
  void come_back(net::Rank rank);
  void set_idle(net::Rank rank, bool is_idle);
  void ask_unheard(net::Rank rank);
  void tell_left_out(net::Rank rank, const Error& why);
  std::string name(net::Rank rank) const;

  const RoleContext& context_;
  Owner& owner_;
  const Words words_;
  const Seconds timeout_;
  std::map<net::Rank, Member> members_;
  std::optional<Introduction> data_;  // once it is known
  bool takes_without_data_ = false;
  bool is_gathering_ = false;
  std::vector<LeftOut> left_out_;  // since gathering began; the owner has not heard of them
  Instant waiting_since_;
  Instant last_useful_;  // when there was a worker to work with
  Error last_failure_;
};

}  // namespace mangrove::job
