#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// How fast a job on several boards is, by its own measurements.
struct Speed {
  std::size_t boards = 0;
  double samples_per_s = 0;            // all boards together
  Seconds compute = 0;                 // for one sample: the median of the boards; with two boards, the faster one
  double samples_per_round = 0;        // one board, between two exchanges: one step, or several local steps
  std::int64_t batch = 0;              // samples of one board in a step
  std::int64_t samples_per_epoch = 0;  // all boards together
};

/// Whether a job should use all of its boards, or one alone.
struct Advice {
  std::size_t boards = 0;                        // 1, or all
  double speedup = 0;                            // speed of all boards divided by that of one alone
  Seconds compute = 0, exchange = 0;             // in one round
  std::optional<std::int64_t> local_steps = {};  // the fewest with which all boards are twice as fast as one
  std::string why = {};                          // an explanation for a person, with these numbers

  /// The advice in one line; "" if nothing can be done better.
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

/// The advice for a job of this speed.
///
/// n boards learn from R samples a second together, and each needs c seconds to compute one sample. One board alone
/// exchanges nothing and learns from 1/c samples a second. So n boards are R c times as fast as one. A round in which
/// each board learns from s samples lasts n s / R. It consists of s c for computing and of the exchange e: messages,
/// updates, and waiting for others.
///
/// With H local steps of b samples each, the exchange stays about as long, apart from the wait for slower boards. So n
/// boards are n H b c / (H b c + e) times as fast as one. That is twice as fast from H = 2 e / ((n - 2) b c) on. There
/// is no such H for two boards. None is advised if a round would be longer than an epoch.
///
/// A number between 1 and n is never best. With the same batch for each board, k boards are k s c / (s c + e(k)) times
/// as fast as one. This grows with k as long as e(k) / k does not grow: the exchange of a server grows with k, and that
/// of a ring or a tree grows less.
/// REQUIRES: all numbers above 0.
Advice advise(const Speed& speed);

/// Measures a running job by the answers of its workers. Times come from a clock that stands still while the job does
/// something other than training. The first two rounds of a worker do not count, because memory is used for the first
/// time and samples are loaded. Measurements with another number of workers do not count either.
/// threads: one at a time.
class JobMeter {
 public:
  explicit JobMeter(Seconds now = 0) : begin_(now), now_(now) {}

  /// A worker has learnt from these samples. compute: the time that it took to compute; a number that is not above 0
  /// means unknown.
  void add(net::Rank rank, std::int64_t samples, Seconds compute);
  /// The answers since the last update have made an update. workers: their number now.
  void end_update(Seconds now, std::size_t workers);

  /// Whether it has measured for ten rounds or two seconds.
  bool is_settled() const;
  /// The measured speed, without the sizes that the job has set. A job that is too short to settle has what was
  /// measured. Nothing: there are fewer than two workers, or there was no round yet.
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
  Seconds begin_, now_;   // of the measurement
  std::int64_t answers_ = 0, samples_ = 0;
  std::map<net::Rank, Work> by_rank_;  // ranks whose time is known
  std::optional<Speed> before_;        // the last measurement before the current one began
};

}  // namespace mangrove::train
