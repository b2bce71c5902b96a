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
/// their replies back. Who has lied gets no more work.
///
/// what     Two workers that are neighbours agree on a mask as long as the update. One of them adds it, and the other
///          subtracts it. Each worker also adds a mask of its own, which it draws from a seed. The leader adds up the
///          masked updates, and takes off the masks that are left. It comes to the sum, and sees no single update.
/// when     A round has these steps. Each is an order to every worker and a reply; the leader waits for all replies, or
///          until a worker is lost.
///            keys    the worker replies with two new public keys and the digest of its seed
///            deal    it gets the keys of its neighbours, and replies with an envelope for each of them: shares of its
///                    key and of its seed, which only the neighbour can open
///            mask    it gets the envelopes of its neighbours, and replies with its update plus all masks
///            reveal  it hears who is in the sum, and replies with its shares: of the seed of a neighbour that is in
///                    the sum, of the key of one that dropped out after `deal`
///          If a worker says that an envelope is wrong, the dealer shows what was in it, before the last step.
/// right    The words of all updates are added modulo 2^32, and their weights are such that the true sum does not
///          overflow. A mask of two workers that are both in the sum cancels out. A worker that dropped out has left
///          its masks in the vectors of its neighbours; its key, from enough shares, gives them. The seeds give the
///          masks that the others drew. So the sum is exactly that of the plain words, whoever dropped out. Of a worker
///          either its key or its seed is revealed, never both, so an update that comes too late stays hidden.
/// cost     With v words, and k other workers that are all neighbours, a worker sends 4 v + 233 k + 236 bytes and
///          receives 271 k + 35 (the test SecureSum.CostsTheBytesThatThePageSays measures it). It computes k + 1 masks
///          of v words. The leader keeps one vector of v words; it computes one mask for each worker in the sum, and k
///          for each that dropped out.
/// source   Bonawitz et al., Practical secure aggregation for privacy-preserving machine learning, CCS 2017; Bell et
///          al., Secure single-server aggregation with (poly)logarithmic overhead, CCS 2020 (which workers are
///          neighbours).
/// threads  one at a time.
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
