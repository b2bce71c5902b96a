#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/train/virtual_time.h"

#include "mangrove/base/clock.h"
#include "mangrove/net/in_process.h"
#include "mangrove/net/role.h"

namespace mangrove {

/// Its process is killed at one of its sends, before that message leaves or just after.
struct Death {
  net::Rank rank = 0;
  int at_send = 0;  // counted from 0
  bool after = false;
};

/// An endpoint that counts what is sent through it, and dies when told to. It waits in virtual time where it is given
/// one.
class MortalEndpoint final : public net::Endpoint {
 public:
  MortalEndpoint(net::InProcessWorld& world, net::Rank rank, std::vector<Death> deaths, VirtualTime* time)
      : world_(world), inner_(world.endpoint(rank)), deaths_(std::move(deaths)), time_(time) {}

  net::Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(net::Rank to, net::Tag tag, std::string payload) override {
    const int number = sent_++;
    for (const Death& death : deaths_) {
      if (death.rank == rank() && death.at_send == number && !death.after) world_.kill(rank());
    }
    inner_.send(to, tag, std::move(payload));
    for (const Death& death : deaths_) {
      if (death.rank == rank() && death.at_send == number && death.after) world_.kill(rank());
    }
    if (time_ != nullptr) time_->change();
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet& from, const std::vector<net::Tag>& tags,
                                Deadline deadline) override {
    if (time_ == nullptr) return inner_.recv_any(from, tags, deadline);
    while (true) {
      const std::uint64_t seen = time_->version();
      Result<net::Message> message = inner_.recv_any(from, tags, Deadline{});  // what is there already
      if (message.ok() || message.code() != Code::deadline_exceeded || time_->now() >= deadline) return message;
      time_->wait(rank(), deadline, seen);
    }
  }
  net::Members members() const override { return inner_.members(); }
  net::Traffic traffic() const override { return inner_.traffic(); }
  void cancel() override { inner_.cancel(); }

  int sent() const { return sent_; }

 private:
  net::InProcessWorld& world_;
  net::Endpoint& inner_;
  std::vector<Death> deaths_;
  VirtualTime* time_;
  std::atomic<int> sent_ = 0;
};

/// Plays all ranks of one job in this process, each on a thread.
class RoleWorld {
 public:
  using Role = std::function<Status(net::RoleContext&)>;

  explicit RoleWorld(int size) : world_(size), size_(size) {}

  net::InProcessWorld& world() { return world_; }
  void die(Death death) { deaths_.push_back(death); }
  /// This rank plays something else than the others.
  void replace(net::Rank rank, Role role) { special_[rank] = std::move(role); }
  /// Called with every report, on the thread of rank 0.
  void on_report(std::function<void(const Report&)> hook) { hook_ = std::move(hook); }
  std::stop_source& stop() { return stop_; }
  /// Deadlines pass only where a rank is silent (see VirtualTime).
  void use_virtual_time() { virtual_time_ = std::make_unique<VirtualTime>(static_cast<std::size_t>(size_)); }
  /// As a coordinator does: all roles are cancelled when the leader's has ended, even if it did not tell them.
  void cancel_at_end() { cancel_at_end_ = true; }

  struct Outcome {
    Status leader;
    std::vector<Status> others;  // of ranks 1 ..
    std::vector<int> sent;       // messages, by rank
    std::vector<Report> reports;

    std::vector<Report> of_kind(const std::string& kind) const {
      std::vector<Report> found;
      for (const Report& report : reports) {
        if (report.kind == kind) found.push_back(report);
      }
      return found;
    }
    const Report& last(const std::string& kind) const {
      const Report* found = nullptr;
      for (const Report& report : reports) {
        if (report.kind == kind) found = &report;
      }
      MG_CHECK_MSG(found != nullptr, "no report '" + kind + "'");
      return *found;
    }
    std::string result() const { return last("result").json; }
    bool has_event(const std::string& text) const {
      for (const Report& report : reports) {
        if (report.kind == "event" && report.json.find(text) != std::string::npos) return true;
      }
      return false;
    }
  };

  Outcome run(const Role& role) {
    Outcome outcome;
    outcome.others.resize(static_cast<std::size_t>(size_ - 1));
    std::vector<std::unique_ptr<MortalEndpoint>> endpoints;
    for (net::Rank rank = 0; rank < size_; ++rank) {
      endpoints.push_back(std::make_unique<MortalEndpoint>(world_, rank, deaths_, virtual_time_.get()));
    }
    Clock& clock = virtual_time_ ? static_cast<Clock&>(*virtual_time_) : clock_;
    {
      std::vector<std::jthread> threads;
      for (net::Rank rank = 1; rank < size_; ++rank) {
        threads.emplace_back([&, rank] {
          net::RoleContext context{*endpoints[static_cast<std::size_t>(rank)], clock, {}, 1, {}, [](Report) {}};
          const auto special = special_.find(rank);
          outcome.others[static_cast<std::size_t>(rank - 1)] =
              (special == special_.end() ? role : special->second)(context);
          if (virtual_time_) virtual_time_->leave();
        });
      }
      net::RoleContext context{*endpoints[0], clock, {}, 1, stop_.get_token(), [&](Report report) {
                                 if (hook_) hook_(report);
                                 outcome.reports.push_back(std::move(report));
                               }};
      outcome.leader = role(context);
      if (!outcome.leader.ok() || cancel_at_end_) cancel();
      if (virtual_time_) virtual_time_->leave();
    }
    for (const auto& endpoint : endpoints) outcome.sent.push_back(endpoint->sent());
    return outcome;
  }

 private:
  /// The coordinator ends all roles of a job that has failed.
  void cancel() {
    for (net::Rank rank = 1; rank < size_; ++rank) world_.endpoint(rank).cancel();
  }

  net::InProcessWorld world_;
  const int size_;
  SteadyClock clock_;
  std::unique_ptr<VirtualTime> virtual_time_;
  std::stop_source stop_;
  bool cancel_at_end_ = false;
  std::vector<Death> deaths_;
  std::map<net::Rank, Role> special_;
  std::function<void(const Report&)> hook_;
};

/// The number after "key": in a flat place of a JSON text. Fails the caller's expectations with NaN where there is
/// none.
inline double json_number(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\":");
  if (at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(json.c_str() + at + key.size() + 3, nullptr);
}

}  // namespace mangrove
