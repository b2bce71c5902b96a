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

/// Gives the tasks of a tiers job to devices as a scheduler and a fault policy say, and knows which are answered: each
/// exactly once, however often it was given out.
/// No input or output: time is told, messages are the caller's; threads: one at a time.
class TierDispatch {
 public:
  struct Device {
    net::Rank rank = 0;
    Tier tier = Tier::end;
    Seconds service = 0;  // of one task, as measured before
    Seconds delay = 0;    // of a task and its answer on their way
    bool gives_first = true;
  };
  struct Options {
    const Scheduler* scheduler = nullptr;  // the first
    const FaultPolicy* policy = nullptr;
    Seconds timeout = 30;  // that an answer may take beyond what is expected; then its task counts as lost
    std::array<double, kTiers> accuracy = {};
    TierGoal goal = {};
    bool later_on_demand = false;  // only batches of which want() was said get more than a first answer
    // So many tasks for later answers may be open before first ones wait for them.
    std::size_t most_later = std::numeric_limits<std::size_t>::max();
  };
  /// devices: at least one.
  TierDispatch(std::size_t batches, std::vector<Device> devices, const Options& options);

  struct Order {
    enum class Kind { run, drop };  // drop: unless it has begun
    Kind kind;
    net::Rank rank;
    TierTask task;
  };
  /// From now on this scheduler decides about every answer that no device has been chosen for. Later answers than first
  /// ones that wait are no longer asked for where it asks for none; where it does, they are asked for to every batch
  /// that has none and wants one: a second one, unless Options::later_on_demand.
  void switch_to(const Scheduler& scheduler);

  /// With Options::later_on_demand: from now on the batch is one of those that get this answer, a second or third one.
  void want(const TierTask& task);

  /// What devices are to be told now. To be called at first, after each answer and loss, and now and then.
  std::vector<Order> next(Instant now);
  /// Whether a task that next() said is to be run still has to be sent to that device: orders may wait with the caller.
  bool is_wanted(net::Rank rank, const TierTask& task) const;
  /// The device is being told to run the task. Until then it is not overdue, and has not been begun with.
  void sent(net::Rank rank, const TierTask& task, Instant now);

  /// An answer has come. service: what the device took for it; on_way: how long the task and its answer were on their
  /// way; unheard: of that, the most that the answer may have been there while the caller did not listen. True: the
  /// task had none. What nobody was asked for is not an answer.
  bool answer(net::Rank rank, const TierTask& task, Seconds service, Seconds on_way, Instant now, Seconds unheard = 0);
  /// The failure detector says that the device is dead.
  void lose(net::Rank rank);

  /// Whether the task was given up. An answer that comes all the same is one.
  bool is_lost(const TierTask& task) const { return tasks_.at(task).phase == Phase::lost; }
  /// Every task that is asked for has its answer, or never gets one.
  bool done() const { return closed_ == asked(); }
  /// Tasks that have been given out, and all others that the scheduler asks for.
  std::size_t asked() const { return tasks_.size() - unasked_; }
  bool is_asked(const TierTask& task) const { return tasks_.at(task).phase != Phase::unasked; }
  bool is_skipped(const TierTask& task) const { return tasks_.at(task).phase == Phase::skipped; }

  struct Counts {
    std::size_t answered = 0;
    std::size_t repeated = 0;  // further answers to answered tasks
    std::size_t lost = 0;      // tasks given up
    std::size_t skipped = 0;   // second answers that could not be there by the deadline
    std::size_t given_again = 0;
    std::size_t stolen = 0;
    std::size_t copied = 0;
  };
  const Counts& counts() const { return counts_; }

  struct DeviceRecord {
    Device device;  // as measured by now
    std::size_t window = 0;
    std::size_t answers = 0;  // that were the first
    Seconds busy = 0;         // for these
    bool dead = false;
  };
  std::vector<DeviceRecord> records() const;

 private:
  struct Given {
    TierTask task;
    Instant at;
    bool is_sent = false;  // no: `at` is when the device was chosen
  };
  struct Worker {
    Device device;
    std::deque<Given> given;
    Instant last_answer;
    std::size_t answers = 0;
    Seconds busy = 0;
    bool dead = false;
    double doubt = 1;  // so much slower than measured it is taken to be, since it has been silent

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
  /// When a device will have done each of the tasks that it has.
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
  /// Tasks for later answers than first ones that are asked for and not closed.
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
  std::vector<Order> drops_;  // to be told with the next orders
  std::size_t closed_ = 0, unasked_ = 0, open_first_ = 0;
  Counts counts_;
};

}  // namespace mangrove::infer
