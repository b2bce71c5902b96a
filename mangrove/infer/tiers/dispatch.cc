#include "mangrove/infer/tiers/dispatch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::infer {
namespace {

constexpr double kNewest = 0.3;          // weight of the newest measurement in the mean of a device's times
constexpr double kSlower = 0.05;         // in that of delays, if it is longer
constexpr std::size_t kMostAtOnce = 64;  // tasks that a device has
constexpr double kWorthIt = 0.05;        // of a task's time, that a thief must be faster
constexpr double kMostDoubt = 1024;

bool is_time(Seconds seconds) {
  return std::isfinite(seconds) && seconds >= 0;
}

}  // namespace

TierDispatch::TierDispatch(std::size_t batches, std::vector<Device> devices, const Options& options)
    : batches_(batches), options_(options), open_first_(batches) {
  MG_CHECK(!devices.empty() && options.scheduler != nullptr && options.policy != nullptr);
  for (Device& device : devices) workers_.push_back({.device = device, .given = {}, .last_answer = {}});
  for (std::size_t batch = 0; batch < batches; ++batch) {
    tasks_[{Answer::first, batch}] = {};
    waiting_[static_cast<std::size_t>(Answer::first)].push_back({Answer::first, batch});
    tasks_[{Answer::second, batch}] = {.phase = Phase::unasked, .is_wanted = !options.later_on_demand};
    tasks_[{Answer::third, batch}] = {.phase = Phase::unasked, .is_wanted = false};
  }
  switch_to(*options.scheduler);
}

void TierDispatch::switch_to(const Scheduler& scheduler) {
  scheduler_ = &scheduler;
  for (const Answer answer : {Answer::second, Answer::third}) waiting_[static_cast<std::size_t>(answer)].clear();
  unasked_ = 0;
  for (auto& [task, entry] : tasks_) {
    const bool is_open = entry.phase == Phase::unasked || entry.phase == Phase::waiting;
    if (task.answer == Answer::first || !is_open) continue;
    const bool is_asked = scheduler.asks_for(task.answer) && entry.is_wanted;
    entry.phase = is_asked ? Phase::waiting : Phase::unasked;
    if (is_asked) {
      waiting_[static_cast<std::size_t>(task.answer)].push_back(task);
    } else {
      ++unasked_;
    }
  }
}

void TierDispatch::want(const TierTask& task) {
  Task& entry = tasks_.at(task);
  entry.is_wanted = true;
  if (entry.phase != Phase::unasked || !scheduler_->asks_for(task.answer)) return;
  entry.phase = Phase::waiting;
  waiting_[static_cast<std::size_t>(task.answer)].push_back(task);
  --unasked_;
}

std::vector<TierDispatch::Order> TierDispatch::next(Instant now) {
  std::vector<Order> orders = std::exchange(drops_, {});
  release_overdue(now);
  skip_late(now);
  while (const auto assignment = scheduler_->next(state(now)))
    give(workers_[assignment->device], assignment->task, now, orders);
  while (options_.policy->copies_blind && copy_blind(now, orders)) {
  }
  while (options_.policy->hedges && hedge(now, orders)) {
  }
  return orders;
}

bool TierDispatch::is_wanted(net::Rank rank, const TierTask& task) const {
  const auto waits = [&](const Given& given) { return given.task == task && !given.is_sent; };
  return std::ranges::any_of(workers_, [&](const Worker& worker) {
    return worker.device.rank == rank && std::ranges::any_of(worker.given, waits);
  });
}

void TierDispatch::sent(net::Rank rank, const TierTask& task, Instant now) {
  Worker* worker = find(rank);
  if (worker == nullptr) return;
  const auto given = std::ranges::find(worker->given, task, &Given::task);
  if (given == worker->given.end()) return;
  given->at = now;
  given->is_sent = true;
}

bool TierDispatch::answer(net::Rank rank, const TierTask& task, Seconds service, Seconds on_way, Instant now,
                          Seconds unheard) {
  Worker* worker = find(rank);
  const auto found = tasks_.find(task);
  if (worker == nullptr || found == tasks_.end() || !found->second.was_given) return false;
  Task& entry = found->second;
  const auto given = std::ranges::find(worker->given, task, &Given::task);
  if (given != worker->given.end()) {
    measure(worker->device, service, on_way, unheard);
    worker->given.erase(given);
    worker->last_answer = now;
    worker->doubt = 1;
    --entry.holders;
  }
  if (entry.phase == Phase::answered) {
    ++counts_.repeated;
    return false;
  }
  if (entry.phase == Phase::waiting) remove_waiting(task);
  const bool was_closed = entry.phase == Phase::lost || entry.phase == Phase::skipped;
  if (entry.phase == Phase::lost) --counts_.lost;  // it was only late
  if (entry.phase == Phase::skipped) --counts_.skipped;
  if (entry.phase == Phase::unasked) --unasked_;
  if (!was_closed) close(task);
  entry.phase = Phase::answered;
  count(task, worker->device.tier);
  ++counts_.answered;
  ++worker->answers;
  worker->busy += service;
  drop_unsent(task);
  if (options_.policy->hedges) drop_copies(task);
  return true;
}

/// A task that comes in while the device computes is noticed late: a longer delay than before says little. Of the times
/// that it can have been, as the caller did not always listen, the one nearest to the delay before is taken.
void TierDispatch::measure(Device& device, Seconds service, Seconds on_way, Seconds unheard) {
  if (!is_time(service) || !is_time(on_way)) return;
  device.service += kNewest * (service - device.service);
  const Seconds delay = std::clamp(device.delay, std::max(0.0, on_way - unheard), on_way);
  device.delay += delay < device.delay ? delay - device.delay : kSlower * (delay - device.delay);
}

/// Devices that have not been told of a task need not do it when it is answered.
void TierDispatch::drop_unsent(const TierTask& task) {
  for (Worker& worker : workers_)
    tasks_.at(task).holders -=
        std::erase_if(worker.given, [&](const Given& given) { return given.task == task && !given.is_sent; });
}

/// Other devices need not begin with a task that is answered.
void TierDispatch::drop_copies(const TierTask& task) {
  for (Worker& worker : workers_) {
    const auto given = std::ranges::find(worker.given, task, &Given::task);
    if (given == worker.given.end() || given == worker.given.begin()) continue;  // it may be at it
    worker.given.erase(given);
    --tasks_.at(task).holders;
    drops_.push_back({Order::Kind::drop, worker.device.rank, task});
  }
}

void TierDispatch::lose(net::Rank rank) {
  Worker* worker = find(rank);
  if (worker == nullptr || worker->dead) return;
  worker->dead = true;
  if (options_.policy->copies_blind) return;  // which looks at nobody
  while (!worker->given.empty()) take_back(*worker, worker->given.size() - 1);
}

TierDispatch::Worker* TierDispatch::find(net::Rank rank) {
  const auto found = std::ranges::find(workers_, rank, [](const Worker& worker) { return worker.device.rank; });
  return found == workers_.end() ? nullptr : &*found;
}

void TierDispatch::give(Worker& worker, const TierTask& task, Instant now, std::vector<Order>& orders) {
  Task& entry = tasks_.at(task);
  if (entry.phase == Phase::waiting) remove_waiting(task);
  entry.phase = Phase::given;
  entry.was_given = true;
  ++entry.holders;
  count(task, worker.device.tier);
  worker.given.push_back({task, now});
  orders.push_back({Order::Kind::run, worker.device.rank, task});
}

/// The device shall not do it, or never will.
void TierDispatch::take_back(Worker& worker, std::size_t position) {
  const TierTask task = worker.given[position].task;
  worker.given.erase(worker.given.begin() + static_cast<std::ptrdiff_t>(position));
  --tasks_.at(task).holders;
  release(task);
}

/// Waits again if it is still asked for, unless somebody has it or it is answered.
void TierDispatch::release(const TierTask& task) {
  Task& entry = tasks_.at(task);
  if (entry.phase != Phase::given || entry.holders > 0) return;
  count(task, std::nullopt);
  if (options_.policy->gives_up) {
    entry.phase = Phase::lost;
    ++counts_.lost;
    close(task);
    return;
  }
  if (!scheduler_->asks_for(task.answer)) {
    entry.phase = Phase::unasked;
    ++unasked_;
    return;
  }
  entry.phase = Phase::waiting;
  waiting_[static_cast<std::size_t>(task.answer)].push_front(task);
  ++counts_.given_again;
}

/// Counts a second answer for that tier, and for no other; nullopt: for none.
void TierDispatch::count(const TierTask& task, std::optional<Tier> tier) {
  if (task.answer != Answer::second) return;
  std::optional<Tier>& counted = tasks_.at(task).counted;
  if (counted) --second_given_[static_cast<std::size_t>(*counted)];
  counted = tier;
  if (counted) ++second_given_[static_cast<std::size_t>(*counted)];
}

void TierDispatch::remove_waiting(const TierTask& task) {
  std::deque<TierTask>& waiting = waiting_[static_cast<std::size_t>(task.answer)];
  waiting.erase(std::ranges::find(waiting, task));
}

void TierDispatch::close(const TierTask& task) {
  ++closed_;
  if (task.answer == Answer::first) --open_first_;
}

/// A device that is silent is taken to be slower from then on.
void TierDispatch::release_overdue(Instant now) {
  for (Worker& worker : workers_) {
    bool was_silent = false;
    for (std::size_t i = worker.given.size(); i-- > 0;) {
      const Seconds expected = worker.device.delay + worker.device.service * static_cast<double>(i + 1);
      if (!worker.given[i].is_sent || now - worker.given[i].at <= expected + options_.timeout) continue;
      take_back(worker, i);
      was_silent = true;
    }
    if (was_silent) worker.doubt = std::min(2 * worker.doubt, kMostDoubt);
  }
}

/// Second answers that nobody can give by the deadline are not asked for.
void TierDispatch::skip_late(Instant now) {
  if (!options_.goal.deadline) return;
  const TierState current = state(now);
  const auto is_in_time = [&](Tier tier) {
    return std::ranges::any_of(current.devices, [&](const DeviceLoad& device) {
      return device.usable && device.tier == tier && device.finish(now) <= *options_.goal.deadline;
    });
  };
  const bool edge = is_in_time(Tier::edge), cloud = is_in_time(Tier::cloud);
  if (edge && cloud) return;
  const auto is_late = [&](const TierTask& task) {
    return !(edge && infer::may_run(current, scheduler_->belongs, task, Tier::edge)) &&
           !(cloud && infer::may_run(current, scheduler_->belongs, task, Tier::cloud));
  };
  std::deque<TierTask> in_time;  // `current` looks at those that wait
  std::deque<TierTask>& waiting = waiting_[static_cast<std::size_t>(Answer::second)];
  for (const TierTask& task : waiting) {
    if (!is_late(task)) {
      in_time.push_back(task);
      continue;
    }
    tasks_.at(task).phase = Phase::skipped;
    ++counts_.skipped;
    close(task);
  }
  waiting = std::move(in_time);
}

std::vector<Instant> TierDispatch::finishes(const Worker& worker, Instant now) const {
  std::vector<Instant> all;
  Instant done = worker.last_answer;
  for (const Given& given : worker.given) {
    const Instant leaves = given.is_sent ? given.at : now;
    done = std::max(done, leaves + worker.device.delay) + worker.service();
    if (done < now && all.empty()) done = now + (now - done);  // the longer it takes, the longer it will take
    all.push_back(done);
  }
  return all;
}

/// So many that the device has work while others are on their way, and one more.
std::size_t TierDispatch::window(const Worker& worker) const {
  const double on_way = worker.service() > 0 ? std::ceil(worker.device.delay / worker.service()) : 0;
  return 2 + static_cast<std::size_t>(std::min(on_way, static_cast<double>(kMostAtOnce - 2)));
}

TierState TierDispatch::state(Instant now) {
  static const std::deque<TierTask> none;
  const std::deque<TierTask>& first = open_later() < options_.most_later ? waiting_[0] : none;
  loads_.clear();
  for (const Worker& worker : workers_) {
    const std::vector<Instant> done = finishes(worker, now);
    loads_.push_back({.rank = worker.device.rank,
                      .tier = worker.device.tier,
                      .usable = !worker.dead || options_.policy->copies_blind,
                      .gives_first = worker.device.gives_first,
                      .service = worker.service(),
                      .delay = worker.device.delay,
                      .window = window(worker),
                      .outstanding = worker.given.size(),
                      .free = done.empty() ? now : done.back()});
  }
  return {.now = now,
          .batches = batches_,
          .devices = loads_,
          .waiting = {&first, &waiting_[1], &waiting_[2]},
          .accuracy = options_.accuracy,
          .given = second_given_,
          .goal = options_.goal};
}

bool TierDispatch::may_run(const TierState& state, const TierTask& task, const Worker& worker) const {
  if (!scheduler_->asks_for(task.answer)) return false;  // who has it ends it
  if (task.answer == Answer::first && !worker.device.gives_first) return false;
  if (!infer::may_run(state, scheduler_->belongs, task, worker.device.tier)) return false;
  // with a floor, no copy goes to a less accurate tier than the one that was chosen
  const std::optional<Tier>& chosen = tasks_.at(task).counted;
  if (!options_.goal.accuracy_floor || !chosen) return true;
  const auto accuracy = [&](Tier tier) { return options_.accuracy[static_cast<std::size_t>(tier)]; };
  return accuracy(worker.device.tier) >= accuracy(*chosen);
}

/// One more copy of a task that the fewest devices have, where all have been given out.
bool TierDispatch::copy_blind(Instant now, std::vector<Order>& orders) {
  if (std::ranges::any_of(waiting_, [](const auto& tasks) { return !tasks.empty(); })) return false;
  const TierState current = state(now);
  for (Worker& worker : workers_) {
    if (worker.given.size() >= window(worker)) continue;
    const std::pair<const TierTask, Task>* fewest = nullptr;
    for (const auto& entry : tasks_) {
      const bool is_candidate = entry.second.phase == Phase::given && may_run(current, entry.first, worker) &&
                                std::ranges::count(worker.given, entry.first, &Given::task) == 0;
      if (is_candidate && (fewest == nullptr || entry.second.holders < fewest->second.holders)) fewest = &entry;
    }
    if (fewest == nullptr) continue;
    ++counts_.copied;
    give(worker, fewest->first, now, orders);
    return true;
  }
  return false;
}

/// Finds the task that would be done last of those that an idle device would do sooner.
bool TierDispatch::hedge(Instant now, std::vector<Order>& orders) {
  const TierState current = state(now);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& thief = workers_[i];
    if (thief.dead || !thief.given.empty()) continue;
    const Seconds gain_wanted = kWorthIt * thief.service();
    Instant latest = current.devices[i].finish(now) + gain_wanted;
    Worker* victim = nullptr;
    std::size_t position = 0;
    bool has_begun = false;
    for (Worker& other : workers_) {
      const std::vector<Instant> done = finishes(other, now);
      for (std::size_t at = 0; at < done.size(); ++at) {
        const TierTask& task = other.given[at].task;
        const Task& entry = tasks_.at(task);
        if (entry.phase != Phase::given || entry.holders > 1 || done[at] <= latest || !may_run(current, task, thief))
          continue;
        latest = done[at];
        victim = &other;
        position = at;
        has_begun = at == 0 && other.given[at].is_sent;
      }
    }
    if (victim == nullptr) continue;
    const TierTask task = victim->given[position].task;
    if (has_begun) {
      ++counts_.copied;
    } else {
      ++counts_.stolen;
      victim->given.erase(victim->given.begin() + static_cast<std::ptrdiff_t>(position));
      --tasks_.at(task).holders;
      orders.push_back({Order::Kind::drop, victim->device.rank, task});
    }
    give(thief, task, now, orders);
    return true;
  }
  return false;
}

std::vector<TierDispatch::DeviceRecord> TierDispatch::records() const {
  std::vector<DeviceRecord> all;
  for (const Worker& worker : workers_)
    all.push_back({.device = worker.device,
                   .window = window(worker),
                   .answers = worker.answers,
                   .busy = worker.busy,
                   .dead = worker.dead});
  return all;
}

}  // namespace mangrove::infer
