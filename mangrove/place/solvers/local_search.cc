#include <algorithm>
#include <cmath>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/random.h"
#include "mangrove/place/choices.h"
#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

// source: Kirkpatrick, Gelatt & Vecchi, Optimization by simulated annealing, 1983.
constexpr double kWarmest = 0.05, kColdest = 1e-6;  // temperatures: shares of what the first placement comes to
constexpr double kExcess = 5;                       // what it counts to exceed a limit by as much again
constexpr double kLevel = 1e-3;                     // what a level of the objective counts against the one before it
constexpr std::size_t kRounds = 3;

class Annealing {
 public:
  Annealing(const Problem& problem, const SolveOptions& options, State& state)
      : problem_(problem),
        options_(options),
        state_(state),
        random_(options.seed),
        choices_(problem),
        best_(state.placement()),
        best_rated_(Rated::of(state)) {
    for (std::size_t p = 0; p < problem.parts().size(); ++p)
      if (problem.parts()[p].candidates->size() > 1) free_.push_back(p);
    for (const double value : state.values()) scales_.push_back(std::max(std::abs(value), 1e-9));
  }

  void run(double effort) {
    if (free_.empty()) return;
    const auto steps =
        static_cast<std::size_t>(effort * std::min(1e6, 4000 + 1500 * static_cast<double>(free_.size())));
    const SteadyClock clock;
    const Deadline end = clock.after(options_.time_limit);
    for (std::size_t round = 0; round < kRounds; ++round) {
      // later rounds begin with the best, and colder
      for (const std::size_t part : free_) state_.put(part, best_[part]);
      const double warmest = kWarmest * std::pow(0.2, static_cast<double>(round));
      for (std::size_t step = 0; step < steps; ++step) {
        if (step % 64 == 0 && (options_.stop.stop_requested() || clock.now() > end)) return finish();
        const double done = static_cast<double>(step) / static_cast<double>(steps);
        temperature_ = warmest * std::pow(kColdest / warmest, done);
        move();
      }
    }
    finish();
  }

 private:
  void finish() {
    for (const std::size_t part : free_) state_.put(part, best_[part]);
  }

  double score() const {
    double sum = kExcess * state_.excess(), weight = 1;
    for (std::size_t level = 0; level < scales_.size(); ++level) {
      sum += weight * state_.value(level) / scales_[level];
      weight *= kLevel;
    }
    return sum;
  }

  std::size_t any_free() { return free_[random_.below(free_.size())]; }
  std::uint32_t any_choice(std::size_t part) {
    const auto choices = choices_.of(part, state_.placement());
    return choices[random_.below(choices.size())];
  }
  bool can_be_on(std::size_t part, std::uint32_t device) const {
    return std::ranges::binary_search(*problem_.parts()[part].candidates, device);
  }
  void change(std::size_t part, std::uint32_t device) {
    if (state_.device_of(part) == device) return;
    undo_.emplace_back(part, state_.device_of(part));
    state_.put(part, device);
  }

  /// A part goes elsewhere.
  void shift() {
    const std::size_t part = any_free();
    change(part, any_choice(part));
  }
  /// Two parts change places.
  void swap() {
    const std::size_t a = any_free(), b = any_free();
    const std::uint32_t of_a = state_.device_of(a), of_b = state_.device_of(b);
    if (!can_be_on(a, of_b) || !can_be_on(b, of_a)) return;
    change(a, of_b);
    change(b, of_a);
  }
  /// A part goes to what it talks to, or takes that along.
  void join() {
    const std::size_t part = any_free();
    const auto& flows = problem_.flows_of(part);
    if (flows.empty()) return shift();
    const PartFlow& flow = problem_.flows()[flows[random_.below(flows.size())]];
    const std::size_t other = flow.from == part ? flow.to : flow.from;
    if (random_.below(2) == 0) {
      if (can_be_on(part, state_.device_of(other))) change(part, state_.device_of(other));
      return;
    }
    const std::uint32_t device = any_choice(part);
    change(part, device);
    if (can_be_on(other, device)) change(other, device);
  }
  /// What a device has of one service, or all that it has, goes to one other, as far as it can.
  void empty(bool only_service) {
    const std::size_t part = any_free();
    const std::uint32_t from = state_.device_of(part), to = any_choice(part);
    if (from == to) return;
    if (only_service) {
      for (const std::size_t other : problem_.graph(problem_.parts()[part].service).parts[problem_.parts()[part].copy])
        if (state_.device_of(other) == from && can_be_on(other, to)) change(other, to);
      return;
    }
    if (state_.parts_on(from) > 64) return shift();
    for (const std::size_t other : free_)
      if (state_.device_of(other) == from && can_be_on(other, to)) change(other, to);
  }

  void move() {
    undo_.clear();
    const double before = score();
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
        shift();
        break;
      case 3:
        swap();
        break;
      case 4:
      case 5:
        join();
        break;
      case 6:
        empty(/*only_service=*/true);
        break;
      default:
        free_.size() <= 256 ? empty(/*only_service=*/false) : shift();
    }
    if (undo_.empty()) return;
    const double worse = score() - before;
    if (worse > 0 && random_.uniform() >= std::exp(-worse / temperature_)) {
      while (!undo_.empty()) {
        state_.put(undo_.back().first, undo_.back().second);
        undo_.pop_back();
      }
      return;
    }
    if (Rated now = Rated::of(state_); now.is_better_than(best_rated_)) {
      best_rated_ = std::move(now);
      best_ = state_.placement();
    }
  }

  const Problem& problem_;
  const SolveOptions& options_;
  State& state_;
  Random random_;
  Choices choices_;
  std::vector<std::size_t> free_;  // parts
  std::vector<double> scales_;     // by level
  std::vector<std::pair<std::size_t, std::uint32_t>> undo_;
  Placement best_;
  Rated best_rated_;
  double temperature_ = 0;
};

}  // namespace

void improve(const Problem& problem, const SolveOptions& options, double effort, State& state) {
  Annealing(problem, options, state).run(effort);
}

Result<Solution> solve_local_search(const Problem& problem, const SolveOptions& options) {
  State state = first_state(problem, options.objective);
  improve(problem, options, 1, state);
  return solution_of(problem, options.objective, state.placement());
}

}  // namespace mangrove::place
