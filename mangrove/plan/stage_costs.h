#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/plan/cuts.h"
#include "mangrove/plan/kinds.h"
#include "mangrove/plan/stage_load.h"

namespace mangrove::plan {

/// How many devices of which kinds a stage gets.
struct Team {
  struct Member {
    std::size_t kind;
    std::size_t count;
  };
  std::vector<Member> members;
  std::size_t devices = 0;
  std::size_t state = 0;  // as Counts numbers it
};

/// What the layers between two cuts cost on a device of a kind, and which cuts are as good as others.
/// threads: one at a time.
class StageCosts {
 public:
  /// All but `counts` must outlive it; kinds: those of interchangeable(problem).
  StageCosts(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds);

  const Cuts& cuts() const { return cuts_; }
  const Counts& counts() const { return counts_; }
  const Device& device(std::size_t kind) const { return *devices_[kind]; }

  /// Micro-batches a second that one device of the kind is done with; infinite where that takes no time.
  double speed(std::size_t kind, std::size_t first, std::size_t last, std::size_t replicas) const;
  /// Whether each of its devices holds the stage, with so many behind it.
  bool fits(const Team& team, std::size_t first, std::size_t last, std::size_t devices_behind) const;
  /// The first cut from which on the team may hold the stage up to `last`.
  std::size_t first_that_may_fit(const Team& team, std::size_t last) const;
  /// Between two micro-batches that the team is done with.
  Seconds period(const Team& team, std::size_t first, std::size_t last) const;
  Seconds busy(std::size_t kind, std::size_t first, std::size_t last) const;

  /// Least work before a cut: each layer on the kind that is fastest with it.
  Seconds work(std::size_t cut) const { return work_[cut]; }
  /// No device of the kind does more of that work in a second.
  double most_work(std::size_t kind) const { return most_work_[kind]; }

  /// For plans from the last stage on: whether a row of stages that begins at cut a can be completed, within the
  /// period, by whatever devices complete one that begins at cut b.
  bool as_good(std::size_t a, std::size_t b, Seconds period) const;
  /// as_good(cut, b) for every b that is not within cut. False where that is not certain.
  bool best_of_later(std::size_t cut, Seconds period) const;

 private:
  StageLoad load(std::size_t kind, std::size_t first, std::size_t last) const;
  Bytes activations(std::size_t first, std::size_t last) const;
  bool passes(std::size_t cut, Seconds period) const;
  bool costs_no_more(std::size_t a, std::size_t b) const;

  const Problem& problem_;
  std::vector<const Device*> devices_;  // one of each kind
  Counts counts_;
  Cuts cuts_;
  std::vector<Seconds> work_;
  std::vector<double> most_work_;
  std::vector<std::vector<Seconds>> seconds_;       // [kind][cut], before the cut
  std::vector<Bytes> parameters_, kept_, buffers_;  // before the cut
  std::vector<Bytes> most_parameters_;              // before any cut up to this one
  std::vector<bool> best_of_later_;                 // where links do not matter
  BytesPerSecond slowest_rate_ = 0;                 // of all links and ways; infinite: none is limited
  bool is_limited_ = false;                         // in memory, on some device
  mutable std::vector<Bytes> peaks_;                // largest activations between two cuts; -1: not looked up yet
};

}  // namespace mangrove::plan
