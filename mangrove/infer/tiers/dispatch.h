#pragma once

#include <array>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

/// Gives the tasks of a tiers job to devices, as a scheduler and a fault policy say. It knows which tasks are answered:
/// each exactly once, however often it was given out.
///
/// Tasks are no job::Requests. A request has one holder, who is lost when the oldest request has no answer after a
/// fixed time. A task may be with several devices at once. It counts when any of them answers, also after the task was
/// taken from that device or given up. Its time limit is the timeout beyond what its device should take for it and for
/// the tasks before it, as measured. A device that is late with one task keeps the others, and is taken to be slower.
///
/// No input or output: the caller tells the time and sends the messages. threads: one at a time.
class TierDispatch {
 public:
  struct Device {
    net::Rank rank = 0;
    Tier tier = Tier::end;
    Seconds service = 0;  // measured time of one task
    Seconds delay = 0;    // time of a task and its answer on their way
    bool gives_first = true;
  };
  struct Options {
    const Scheduler* scheduler = nullptr;  // the first one
    const FaultPolicy* policy = nullptr;
    Seconds timeout = 30;  // a task counts as lost if its answer is later than expected by this
    std::array<double, kTiers> accuracy = {};
    TierGoal goal = {};
    bool later_on_demand = false;  // only batches that want() was called for get more than a first answer
    // While this number of tasks for later answers is open, no first answers are given out.
    std::size_t most_later = std::numeric_limits<std::size_t>::max();
  };
  /// devices: at least one.
  TierDispatch(std::size_t batches, std::vector<Device> devices, const Options& options);

  struct Order {
    enum class Kind { run, drop };  // drop: do not run it, unless it has begun
    Kind kind;
    net::Rank rank;
    TierTask task;
  };
  /// From now on this scheduler decides about every answer that no device has been chosen for. If it asks for no later
  /// answers, waiting ones are not asked for any more. If it does, they are asked for every batch that has none and
  /// wants one: a second answer, unless Options::later_on_demand.
  void switch_to(const Scheduler& scheduler);

  /// With Options::later_on_demand: from now on the batch of this task gets this answer, a second or third one.
  void want(const TierTask& task);

  /// The orders for the devices. To be called at first, after each answer and loss, and now and then.
  std::vector<Order> next(Instant now);
  /// Whether a task that next() gave to that device must still be sent. Orders may wait with the caller.
  bool is_wanted(net::Rank rank, const TierTask& task) const;
  /// The task is now sent to the device. Before that it cannot be overdue, and has not been begun.
  void sent(net::Rank rank, const TierTask& task, Instant now);

  /// An answer has come. Returns true if it is the first one to its task. An answer that was never asked for is
  /// ignored.
  ///
  /// service  the time of the device for it.
  /// on_way   the time of the task and its answer on their way.
  /// unheard  the part of on_way in which the answer may have been here already while the caller did not listen.
  bool answer(net::Rank rank, const TierTask& task, Seconds service, Seconds on_way, Instant now, Seconds unheard = 0);
  /// The failure detector reports the device as dead.
  void lose(net::Rank rank);

  /// Whether the task was given up. If an answer comes all the same, it counts.
  bool is_lost(const TierTask& task) const { return tasks_.at(task).phase == Phase::lost; }
  /// Whether every task that is asked for has its answer or was given up.
  bool done() const { return closed_ == asked(); }
  /// The number of tasks that were given out or that the scheduler still asks for.
  std::size_t asked() const { return tasks_.size() - unasked_; }
  bool is_asked(const TierTask& task) const { return tasks_.at(task).phase != Phase::unasked; }
  bool is_skipped(const TierTask& task) const { return tasks_.at(task).phase == Phase::skipped; }

  struct Counts {
    std::size_t answered = 0;
    std::size_t repeated = 0;  // further answers to answered tasks
    std::size_t lost = 0;      // tasks given up
    std::size_t skipped = 0;   // second answers that could not come before the deadline
    std::size_t given_again = 0;
    std::size_t stolen = 0;
    std::size_t copied = 0;
  };
  const Counts& counts() const { return counts_; }

  struct DeviceRecord {
    Device device;  // with the present measurements
    std::size_t window = 0;
    std::size_t answers = 0;  // first answers to their task
    Seconds busy = 0;         // time for these
    bool dead = false;
  };
  std::vector<DeviceRecord> records() const;

 private:
  struct Given {
    TierTask task;
    Instant at;
    bool is_sent = false;  // false: `at` is the time when the device was chosen
  };
  struct Worker {
    Device device;
    std::deque<Given> given;
    Instant last_answer;
    std::size_t answers = 0;
    Seconds busy = 0;
    bool dead = false;
    double doubt = 1;  // a silent device is assumed to be slower than measured by this factor

    Seconds service() const { return device.service * doubt; }
  };
  enum class Phase { unasked, waiting, given, answered, lost, skipped };
  struct Task {
    Phase phase = Phase::waiting;
    std::size_t holders = 0;
    bool was_given = false;
    bool is_wanted = true;
    std::optional<Tier> counted = {};  // in second_given_
  };
  /// The times at which the device will have done each of its tasks.
  std::vector<Instant> finishes(const Worker& worker, Instant now) const;
  std::size_t window(const Worker& worker) const;
  TierState state(Instant now);
  bool may_run(const TierState& state, const TierTask& task, const Worker& worker) const;
  Worker* find(net::Rank rank);
  static void measure(Device& device, Seconds service, Seconds on_way, Seconds unheard);
  void give(Worker& worker, const TierTask& task, Instant now, std::vector<Order>& orders);
  void take_back(Worker& worker, std::size_t position);
  void release(const TierTask& task);
  void count(const TierTask& task, std::optional<Tier> tier);
  void remove_waiting(const TierTask& task);
  void close(const TierTask& task);
  /// The number of tasks for later answers than the first that are asked for and not closed.
  std::size_t open_later() const { return asked() - closed_ - open_first_; }
  void drop_copies(const TierTask& task);
  void drop_unsent(const TierTask& task);
  void release_overdue(Instant now);
  void skip_late(Instant now);
  bool copy_blind(Instant now, std::vector<Order>& orders);
  bool hedge(Instant now, std::vector<Order>& orders);

  const std::size_t batches_;
  const Options options_;
  const Scheduler* scheduler_ = nullptr;
  std::vector<Worker> workers_;
  std::map<TierTask, Task> tasks_;
  std::array<std::deque<TierTask>, kAnswers> waiting_;
  std::array<std::size_t, kTiers> second_given_{};
  std::vector<DeviceLoad> loads_;
  std::vector<Order> drops_;  // returned with the next orders
  std::size_t closed_ = 0, unasked_ = 0, open_first_ = 0;
  Counts counts_;
};

}  // namespace mangrove::infer
