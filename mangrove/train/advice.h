#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// What a job on several boards has measured of itself.
struct Speed {
  std::size_t boards = 0;
  double samples_per_s = 0;            // of all boards together
  Seconds compute = 0;                 // for a sample: median of the boards; of two the faster
  double samples_per_round = 0;        // of each board, from one exchange to the next: a step, or several local steps
  std::int64_t batch = 0;              // samples of each board in a step
  std::int64_t samples_per_epoch = 0;  // of all boards together
};

/// Whether a job should have the boards that it has, or one alone.
struct Advice {
  std::size_t boards = 0;                        // 1, or all
  double speedup = 0;                            // of all boards against one alone
  Seconds compute = 0, exchange = 0;             // of a round
  std::optional<std::int64_t> local_steps = {};  // the fewest between exchanges with which all are twice as fast as one
  std::string why = {};                          // for a person, with these numbers

  /// What it comes to, in one line; "" where there is nothing to be done better.
  std::string sentence() const;
  static void fields(auto& self, auto& field) {
    field("boards", self.boards);
    field("predicted_speedup", self.speedup);
    field("compute_s", self.compute);
    field("exchange_s", self.exchange);
    field("local_steps", self.local_steps);
    field("why", self.why);
  }
};

/// n boards that learn from R samples a second, each of which takes c seconds to compute, are R c times as fast as one:
/// alone, a board exchanges nothing. A round of s samples of each board lasts n s / R. What of it is not computing,
/// s c, is the exchange e: messages, updates, and waiting for others.
///
/// The exchange does not take longer for more local steps H of b samples each (but for the wait for a slower board), so
/// that n boards are n H b c / (H b c + e) times as fast as one: twice for H >= 2 e / ((n - 2) b c). There is no such H
/// for two boards, or where the rounds would be longer than an epoch.
///
/// A number between 1 and n is never best. With the same batch for each board, k boards are k s c / (s c + e(k)) times
/// as fast as one, which grows with k as long as e(k) / k does not: the exchange of a server grows with k, that of a
/// ring or a tree by less.
/// REQUIRES: all numbers above 0.
Advice advise(const Speed& speed);

/// Measures a running job by the answers of its workers. Times are those of a clock that stands still while the job
/// does something other than training. Each worker's first two rounds are not counted (memory is touched for the first
/// time, samples are loaded), nor what was measured with another number of workers.
/// threads: one at a time.
class JobMeter {
 public:
  explicit JobMeter(Seconds now = 0) : begin_(now), now_(now) {}

  /// A worker has learnt from so many samples. compute: what it took it; without a number above 0 it is not known.
  void add(net::Rank rank, std::int64_t samples, Seconds compute);
  /// What was added since the last update made one; so many workers are there now.
  void end_update(Seconds now, std::size_t workers);

  /// Measured for ten rounds, or two seconds.
  bool is_settled() const;
  /// Without the sizes that the job has set. Of a job that is too short to be settled, what there is. Nothing: of fewer
  /// than two workers, or before the first round.
  std::optional<Speed> speed() const;

 private:
  struct Work {
    std::int64_t samples = 0;
    Seconds compute = 0;
  };
  void begin_anew();
  std::optional<Speed> measured() const;

  std::size_t workers_ = 0;
  bool is_warm_ = false;  // the first rounds are over
  Seconds begin_, now_;   // of what is measured
  std::int64_t answers_ = 0, samples_ = 0;
  std::map<net::Rank, Work> by_rank_;  // where the time is known
  std::optional<Speed> before_;        // what was measured last, before it began anew
};

}  // namespace mangrove::train
