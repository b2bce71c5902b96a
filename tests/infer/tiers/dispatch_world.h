#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/infer/tiers/dispatch.h"

namespace mangrove::infer::testing {

constexpr Seconds kPoll = 0.2;     // how often a leader looks, whatever comes
constexpr Seconds kDetection = 3;  // from a device's death until its loss is known

struct Emulated {
  Tier tier = Tier::end;
  Seconds service = 1;
  Seconds delay = 0;
  int dies_after = -1;  // so many tasks; -1: never
};

/// Devices that do what a TierDispatch orders, in virtual time.
class DispatchWorld {
 public:
  DispatchWorld(std::size_t batches, std::vector<Emulated> devices, TierDispatch::Options options)
      : dispatch_(batches, as_measured(devices), options), scheduler_(options.scheduler), devices_(devices.size()) {
    for (std::size_t i = 0; i < devices.size(); ++i) devices_[i].like = devices[i];
  }

  /// Returns the completion time. Which order is lost on its way, by number.
  Seconds run(const std::function<bool(int)>& is_lost = [](int) { return false; }) {
    is_lost_ = is_lost;
    at(0, [] {});
    for (int polls = 1; !dispatch_.done() && now_ < 1e5; ++polls) {
      at(polls * kPoll, [] {});
      while (!events_.empty() && events_.begin()->first <= polls * kPoll && !dispatch_.done()) {
        now_ = events_.begin()->first;
        const auto event = events_.begin()->second;
        events_.erase(events_.begin());
        event();
        for (const TierDispatch::Order& order : dispatch_.next({now_})) follow(order);
      }
    }
    EXPECT_TRUE(dispatch_.done());
    return last_answer_;
  }

  /// Switches to the next of these schedulers, over and over, with each `every`-th answer.
  void switch_among(std::vector<const char*> schedulers, int every) {
    turns_ = std::move(schedulers);
    every_ = every;
  }

  /// Batches get so many answers, each when they have the one before (with TierDispatch::Options::later_on_demand).
  void want_answers(std::size_t answers) { wanted_ = answers; }

  /// Later answers than first ones that were wanted and not there, at most.
  int most_open() const { return most_open_; }

  const TierDispatch& dispatch() const { return dispatch_; }
  /// In charge at the end.
  const Scheduler& scheduler() const { return *scheduler_; }
  /// By which device each task was answered first.
  const std::map<TierTask, net::Rank>& answers() const { return answers_; }
  std::size_t answers_of(Tier tier) const {
    return static_cast<std::size_t>(std::ranges::count_if(answers_, [&](const auto& entry) {
      return entry.first.answer == Answer::second &&
             devices_[static_cast<std::size_t>(entry.second) - 1].like.tier == tier;
    }));
  }

 private:
  struct Device {
    Emulated like;
    std::deque<std::pair<TierTask, Seconds>> queue;  // and when it is there
    bool busy = false, dead = false;
    int done = 0;
  };

  static std::vector<TierDispatch::Device> as_measured(const std::vector<Emulated>& devices) {
    std::vector<TierDispatch::Device> all;
    for (const Emulated& device : devices)
      all.push_back({static_cast<net::Rank>(all.size() + 1), device.tier, device.service, device.delay});
    return all;
  }

  void at(Seconds when, std::function<void()> event) { events_.emplace(when, std::move(event)); }

  void follow(const TierDispatch::Order& order) {
    if (order.kind == TierDispatch::Order::Kind::run) dispatch_.sent(order.rank, order.task, {now_});
    Device& device = devices_[static_cast<std::size_t>(order.rank) - 1];
    if (is_lost_(orders_++) || device.dead) return;
    if (order.kind == TierDispatch::Order::Kind::drop) {
      std::erase_if(device.queue, [&](const auto& entry) { return entry.first == order.task; });
      return;
    }
    device.queue.emplace_back(order.task, now_ + device.like.delay);
    at(now_ + device.like.delay, [this, &device] { begin(device); });
  }

  void begin(Device& device) {
    if (device.busy || device.dead || device.queue.empty() || device.queue.front().second > now_ + 1e-9) return;
    const TierTask task = device.queue.front().first;
    device.queue.pop_front();
    device.busy = true;
    at(now_ + device.like.service, [this, &device, task] { finish(device, task); });
  }

  void finish(Device& device, const TierTask& task) {
    device.busy = false;
    const auto rank = static_cast<net::Rank>(&device - devices_.data()) + 1;
    if (dispatch_.answer(rank, task, device.like.service, device.like.delay, {now_})) {
      EXPECT_TRUE(answers_.emplace(task, rank).second) << "answered twice";
      last_answer_ = now_;
      go_on_behind(task);
      take_turns();
    }
    if (++device.done == device.like.dies_after) {
      device.dead = true;
      at(now_ + kDetection, [this, rank] { dispatch_.lose(rank); });
    }
    begin(device);
  }

  void go_on_behind(const TierTask& task) {
    if (wanted_ > 0 && task.answer != Answer::first) --open_;
    const std::size_t next = static_cast<std::size_t>(task.answer) + 1;
    if (next >= wanted_) return;
    dispatch_.want({static_cast<Answer>(next), task.batch});
    most_open_ = std::max(most_open_, ++open_);
  }

  void take_turns() {
    const auto answers = static_cast<int>(answers_.size());
    if (turns_.empty() || answers % every_ != 0) return;
    scheduler_ = *find_scheduler(turns_[static_cast<std::size_t>(answers / every_ - 1) % turns_.size()]);
    dispatch_.switch_to(*scheduler_);
  }

  TierDispatch dispatch_;
  const Scheduler* scheduler_;
  std::size_t wanted_ = 0;
  int open_ = 0, most_open_ = 0;
  std::vector<const char*> turns_;
  int every_ = 1;
  std::vector<Device> devices_;
  std::multimap<Seconds, std::function<void()>> events_;
  std::function<bool(int)> is_lost_;
  int orders_ = 0;
  Seconds now_ = 0, last_answer_ = 0;
  std::map<TierTask, net::Rank> answers_;
};

inline TierDispatch::Options options(const char* scheduler, const char* policy = "monitor") {
  return {.scheduler = *find_scheduler(scheduler), .policy = *find_fault_policy(policy), .goal = {}};
}

inline std::vector<Emulated> tiers(std::size_t end, std::size_t edge, std::size_t cloud, Seconds end_s = 1,
                                   Seconds edge_s = 1, Seconds cloud_s = 0.5) {
  std::vector<Emulated> devices(end, {.tier = Tier::end, .service = end_s});
  devices.insert(devices.end(), edge, {.tier = Tier::edge, .service = edge_s, .delay = 0.5});
  devices.insert(devices.end(), cloud, {.tier = Tier::cloud, .service = cloud_s, .delay = 1});
  return devices;
}

}  // namespace mangrove::infer::testing
