#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/report_name.h"
#include "tests/train/virtual_network.h"
#include "tests/train/virtual_time.h"

#include "mangrove/base/clock.h"
#include "mangrove/job/machine.h"
#include "mangrove/job/role.h"
#include "mangrove/net/in_process.h"

namespace mangrove {

/// Its process is killed at one of its sends, before that message leaves or just after.
struct Death {
  net::Rank rank = 0;
  int at_send = 0;  // counted from 0
  bool after = false;
};

/// An endpoint that counts what is sent through it, and dies or freezes when told to. It waits in virtual time where it
/// is given one.
class MortalEndpoint final : public net::Endpoint {
 public:
  using SendHook = std::function<void(net::Rank from, net::Rank to, int number)>;

  MortalEndpoint(net::InProcessWorld& world, net::Rank rank, std::vector<Death> deaths, SendHook on_send,
                 VirtualTime* time, VirtualNetwork* network)
      : world_(world),
        inner_(world.endpoint(rank)),
        deaths_(std::move(deaths)),
        on_send_(std::move(on_send)),
        time_(time),
        network_(network) {}

  net::Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override {
    const int number = sent_++;
    if (on_send_) on_send_(rank(), to, number);
    stay_frozen();
    const auto dies = [&](bool after) {
      return std::any_of(deaths_.begin(), deaths_.end(), [&](const Death& death) {
        return death.rank == rank() && death.at_send == number && death.after == after;
      });
    };
    if (dies(false)) world_.kill(rank());
    if (network_ != nullptr) {
      network_->send(rank(), to, tag, std::move(payload));
    } else {
      inner_.send(to, tag, std::move(payload));
    }
    if (dies(true)) world_.kill(rank());
    if (time_ != nullptr && (on_send_ || dies(false) || dies(true))) time_->change();
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override {
    if (time_ == nullptr) return inner_.recv_any(from, tags, deadline);
    while (true) {
      stay_frozen();
      const std::uint64_t seen = time_->version(rank());
      Result<net::Message> message = inner_.recv_any(from, tags, Deadline{});  // what is there already
      if (message.ok() || message.code() != Code::deadline_exceeded || time_->now() >= deadline) return message;
      time_->wait(rank(), deadline, seen);
    }
  }
  net::Members members() const override { return inner_.members(); }
  net::Traffic traffic() const override { return inner_.traffic(); }
  void cancel() override { inner_.cancel(); }

  /// As SIGSTOP: the role does nothing until then; what it has sent arrives, and what is sent to it waits.
  void freeze(Instant until) { frozen_until_ = until.seconds; }
  int sent() const { return sent_; }

 private:
  void stay_frozen() {
    while (time_ != nullptr) {
      const std::uint64_t seen = time_->version(rank());
      const Instant until{frozen_until_};
      if (time_->now() >= until) return;
      time_->wait(rank(), until, seen);
    }
  }

  net::InProcessWorld& world_;
  net::Endpoint& inner_;
  std::vector<Death> deaths_;
  SendHook on_send_;
  VirtualTime* time_;
  VirtualNetwork* network_;
  std::atomic<int> sent_ = 0;
  std::atomic<double> frozen_until_ = 0;
};

/// Plays all ranks of one job in this process, each on a thread.
class RoleWorld {
 public:
  using Role = std::function<Status(job::RoleContext&)>;
  static constexpr Seconds kDetectorTime = 3;  // of silence, in virtual time, after which a rank is lost

  explicit RoleWorld(int size) : world_(size), size_(size) {}

  net::InProcessWorld& world() { return world_; }
  void die(Death death) { deaths_.push_back(death); }
  /// This rank plays something else than the others.
  void replace(net::Rank rank, Role role) { special_[rank] = std::move(role); }
  /// All ranks play on this device, in place of the machine.
  void use_device(job::Device& device) { device_ = &device; }
  /// Called with every report, on the thread of rank 0.
  void on_report(std::function<void(const Report&)> hook) { hook_ = std::move(hook); }
  /// Called before every send of a rank, on its thread; number counts the sends of that rank from 0.
  void on_send(MortalEndpoint::SendHook hook) { on_send_ = std::move(hook); }
  std::stop_source& stop() { return stop_; }
  /// Deadlines pass only where a rank is silent (see VirtualTime), and messages take `latency`.
  void use_virtual_time(Seconds latency = 0, Seconds jitter = 0) {
    time_ = std::make_unique<VirtualTime>(static_cast<std::size_t>(size_));
    network_ = std::make_unique<VirtualNetwork>(world_, *time_, latency, jitter);
  }
  VirtualTime& time() { return *time_; }
  VirtualNetwork& network() { return *network_; }
  /// As a coordinator does: all roles are cancelled when the leader's has ended, even if it did not tell them.
  void cancel_at_end() { cancel_at_end_ = true; }

  // What may happen while the world runs in virtual time. REQUIRES: cancel_at_end(), but for kill().
  /// As SIGKILL: the broken line tells everyone at once.
  void kill(net::Rank rank) {
    world_.kill(rank);
    if (time_) time_->change();
  }
  /// As SIGSTOP and, later, SIGCONT. A rank that was lost meanwhile joins again when it wakes up.
  void freeze(net::Rank rank, Seconds duration) {
    {
      MutexLock lock(mutex_);
      endpoints_.at(rank)->freeze(time_->after(duration));
    }
    fall_silent(rank, duration);
  }
  /// Its link is cut. A rank that was lost meanwhile joins again when the link is there again.
  void cut_off(net::Rank rank, Seconds duration) {
    network_->cut_off(rank, time_->after(duration));
    fall_silent(rank, duration);
  }
  /// A node joins the running job.
  void add_worker() {
    MutexLock lock(mutex_);
    if (over_) return;
    const net::Rank rank = join();
    time_->enter();
    threads_.emplace_back([this, rank] { live(rank); });
  }

  struct Outcome {
    Status leader;
    std::vector<Status> others;  // of ranks 1 ..
    std::vector<int> sent;       // messages, by rank
    std::vector<Report> reports;

    std::vector<Report> of_kind(const std::string& kind) const {
      std::vector<Report> found;
      for (const Report& report : reports) {
        if (report_name(report) == kind) found.push_back(report);
      }
      return found;
    }
    const Report& last(const std::string& kind) const {
      const Report* found = nullptr;
      for (const Report& report : reports) {
        if (report_name(report) == kind) found = &report;
      }
      MG_CHECK_MSG(found != nullptr, "no report '" + kind + "'");
      return *found;
    }
    std::string result() const { return last("result").json; }
    bool has_event(const std::string& text) const {
      for (const Report& report : reports) {
        if (report.kind == ReportKind::event && report.json.find(text) != std::string::npos) return true;
      }
      return false;
    }
  };

  Outcome run(const Role& role) {
    role_ = role;
    {
      MutexLock lock(mutex_);
      for (net::Rank rank = 0; rank < size_; ++rank) add_endpoint(rank);
      for (net::Rank rank = 1; rank < size_; ++rank) threads_.emplace_back([this, rank] { live(rank); });
    }
    Outcome outcome;
    job::RoleContext context{endpoint(0), clock(), *device_, {}, 1, stop_.get_token(), [&](Report report) {
                               if (hook_) hook_(report);
                               outcome.reports.push_back(std::move(report));
                             }};
    outcome.leader = role(context);
    end(!outcome.leader.ok() || cancel_at_end_);
    for (auto thread = threads_.begin(); thread != threads_.end(); ++thread) thread->join();
    MutexLock lock(mutex_);
    outcome.others.resize(endpoints_.size() - 1);
    for (const auto& [rank, status] : ended_) outcome.others[static_cast<std::size_t>(rank - 1)] = status;
    for (const auto& [rank, of_rank] : endpoints_) outcome.sent.push_back(of_rank->sent());
    return outcome;
  }

 private:
  Clock& clock() { return time_ ? static_cast<Clock&>(*time_) : clock_; }
  MortalEndpoint& endpoint(net::Rank rank) {
    MutexLock lock(mutex_);
    return *endpoints_.at(rank);
  }
  void add_endpoint(net::Rank rank) MG_REQUIRES(mutex_) {
    endpoints_[rank] = std::make_unique<MortalEndpoint>(world_, rank, deaths_, on_send_, time_.get(), network_.get());
  }
  net::Rank join() MG_REQUIRES(mutex_) {
    const net::Rank rank = world_.join();
    add_endpoint(rank);
    return rank;
  }

  /// One node: plays its rank, and joins again when it was lost and comes back.
  void live(net::Rank rank) {
    for (std::optional<net::Rank> now = rank; now; now = come_back(*now)) {
      job::RoleContext context{endpoint(*now), clock(), *device_, {}, 1, {}, [](Report) {}};
      const auto special = special_.find(*now);
      Status status = (special == special_.end() ? role_ : special->second)(context);
      MutexLock lock(mutex_);
      ended_[*now] = std::move(status);
    }
    if (time_) time_->leave();
  }
  std::optional<net::Rank> come_back(net::Rank rank) {
    while (true) {
      const std::uint64_t seen = time_ ? time_->version(rank) : 0;
      Instant at;
      {
        MutexLock lock(mutex_);
        const auto found = comes_back_.find(rank);
        if (over_ || found == comes_back_.end()) return std::nullopt;
        at = found->second;
        if (time_->now() >= at) return join();
      }
      time_->wait(rank, at, seen);
    }
  }
  void fall_silent(net::Rank rank, Seconds duration) {
    if (duration <= kDetectorTime) return;
    MutexLock lock(mutex_);
    comes_back_[rank] = time_->after(duration);
    time_->at(time_->after(kDetectorTime), [this, rank] { kill(rank); });
  }
  /// The leader's role is over.
  void end(bool cancels) {
    MutexLock lock(mutex_);
    over_ = true;
    for (const auto& [rank, of_rank] : endpoints_) {
      if (rank != 0 && cancels) world_.endpoint(rank).cancel();  // the coordinator ends all roles
    }
    if (time_) time_->leave();
  }

  net::InProcessWorld world_;
  const int size_;
  SteadyClock clock_;
  job::Machine machine_;
  job::Device* device_ = &machine_;
  std::unique_ptr<VirtualTime> time_;
  std::unique_ptr<VirtualNetwork> network_;
  std::stop_source stop_;
  bool cancel_at_end_ = false;
  Role role_;
  std::vector<Death> deaths_;
  std::map<net::Rank, Role> special_;
  std::function<void(const Report&)> hook_;
  MortalEndpoint::SendHook on_send_;

  Mutex mutex_;  // before those of the world and its time
  bool over_ MG_GUARDED_BY(mutex_) = false;
  std::map<net::Rank, std::unique_ptr<MortalEndpoint>> endpoints_ MG_GUARDED_BY(mutex_);
  std::map<net::Rank, Status> ended_ MG_GUARDED_BY(mutex_);
  std::map<net::Rank, Instant> comes_back_ MG_GUARDED_BY(mutex_);
  std::list<std::jthread> threads_;  // grows until the leader's role is over
};

/// The number after "key": in a flat place of a JSON text. Fails the caller's expectations with NaN where there is
/// none.
inline double json_number(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\":");
  if (at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(json.c_str() + at + key.size() + 3, nullptr);
}

}  // namespace mangrove
