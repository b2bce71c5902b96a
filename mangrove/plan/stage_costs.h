#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/plan/cuts.h"
#include "mangrove/plan/kinds.h"
#include "mangrove/plan/stage_load.h"

namespace mangrove::plan {

/// The devices of a stage: how many of each kind.
struct Team {
  struct Member {
    std::size_t kind;
    std::size_t count;
  };
  std::vector<Member> members;
  std::size_t devices = 0;
  std::size_t state = 0;  // its number in Counts
};

/// The cost of the layers between two cuts on a device of a kind, and which cuts are as good as others.
/// threads: one at a time.
class StageCosts {
 public:
  /// problem and kinds must outlive it. kinds: those of interchangeable(problem).
  StageCosts(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds);

  const Cuts& cuts() const { return cuts_; }
  const Counts& counts() const { return counts_; }
  const Device& device(std::size_t kind) const { return *devices_[kind]; }

  /// Micro-batches a second that one device of the kind finishes. Infinite if they take no time.
  double speed(std::size_t kind, std::size_t first, std::size_t last, std::size_t replicas) const;
  /// Whether the stage fits each device of the team, with this number of devices behind it.
  bool fits(const Team& team, std::size_t first, std::size_t last, std::size_t devices_behind) const;
  /// The first cut at which a stage that ends at `last` may begin and still fit the team.
  std::size_t first_that_may_fit(const Team& team, std::size_t last) const;
  /// The time between two micro-batches that the team finishes.
  Seconds period(const Team& team, std::size_t first, std::size_t last) const;
  Seconds busy(std::size_t kind, std::size_t first, std::size_t last) const;

  /// The least work before a cut: the time of each layer on the kind that computes it fastest.
  Seconds work(std::size_t cut) const { return work_[cut]; }
  /// The most of that work that a device of the kind can do in a second.
  double most_work(std::size_t kind) const { return most_work_[kind]; }

  /// For plans that are made from the last stage to the first. Whether cut a is as good as cut b: any devices that
  /// complete a row of stages which begins at cut b also complete one which begins at cut a, within the period.
  bool as_good(std::size_t a, std::size_t b, Seconds period) const;
  /// Whether as_good(cut, b) holds for every b that is not within cut. False if that is not certain.
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
