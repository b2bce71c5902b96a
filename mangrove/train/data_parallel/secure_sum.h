#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/secure_aggregation/server.h"
#include "mangrove/train/data_parallel/secure_update.h"
#include "mangrove/train/data_parallel/worker_roster.h"

namespace mangrove::train {

/// The leader's side of secure sums: it carries the messages of secure::Server to workers that keep their updates, and
/// their replies back. Who has lied gets no more work. threads: one at a time.
class SecureSum {
 public:
  SecureSum(const SecureUpdate& layout, WorkerRoster& workers, Reports& reports)
      : layout_(layout), workers_(workers), reports_(reports) {}

  /// An update that a worker keeps.
  struct Term {
    net::Rank rank;
    std::int64_t samples;
    double discount;  // of a change that is late; 1: none
  };
  struct Outcome {
    net::RankSet ranks;  // whose updates are in the sum
    SecureUpdate::Total total;
  };
  using NextAnswer = std::function<Result<std::optional<WorkerRoster::Answered>>()>;
  using TakeOther = std::function<void(WorkerRoster::Answered)>;

  /// terms: kFewestClients at least, by rank. next: waits for news of any worker. other: takes the answers of workers
  /// that are not in the sum. Returns nothing where there is no sum: too many workers dropped out, or one has lied;
  /// that is an event. No worker keeps its update then, and the work must be done anew. errors: those of next.
  Result<std::optional<Outcome>> sum(std::span<const Term> terms, std::int64_t step, const NextAnswer& next,
                                     const TakeOther& other);

  /// How many sums in a row have come to nothing, though no worker was left out for a lie.
  int failures() const { return failures_; }

  /// The roster has dropped this worker: its reply will not come.
  void lose(net::Rank rank);
  /// Whether this worker's vector is in the sum that is being made. If it is lost now, its samples are not.
  bool has_vector_of(net::Rank rank) const {
    return server_ && server_->has_vector_of(static_cast<std::uint32_t>(rank));
  }

 private:
  void give(std::span<const Term> terms, const std::map<secure::ClientId, std::string>& orders);
  void leave_out_liars();

  const SecureUpdate layout_;
  WorkerRoster& workers_;
  Reports& reports_;
  std::optional<secure::Server> server_;  // while a sum is made
  std::int64_t step_ = 0;                 // of that sum
  std::uint64_t rounds_ = 0;
  int failures_ = 0;  // in a row, of which no lie is the reason
};

}  // namespace mangrove::train
