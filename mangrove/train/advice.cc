#include "mangrove/train/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/base/median.h"

namespace mangrove::train {
namespace {

constexpr int kWorthIt = 2;                        // times as fast as one board
constexpr int kFewRounds = 5;                      // in an epoch
constexpr std::int64_t kWarmUp = 2, kEnough = 10;  // rounds
constexpr Seconds kLongEnough = 2;

/// See advise().
std::optional<std::int64_t> local_steps_worth_it(const Speed& s, Seconds exchange) {
  const auto boards = static_cast<double>(s.boards), batch = static_cast<double>(s.batch);
  if (boards <= kWorthIt) return std::nullopt;
  const double steps = std::max(1.0, std::ceil(kWorthIt * exchange / ((boards - kWorthIt) * batch * s.compute)));
  if (steps * batch * boards > static_cast<double>(s.samples_per_epoch)) return std::nullopt;
  return static_cast<std::int64_t>(steps);
}

double rounds_per_epoch(const Speed& s, double samples_per_round) {
  return static_cast<double>(s.samples_per_epoch) / (static_cast<double>(s.boards) * samples_per_round);
}

std::string explain(const Advice& advice, const Speed& s) {
  const char* round = s.samples_per_round > static_cast<double>(s.batch) ? "round" : "step";
  std::string text = fmt::format(
      "a {} of {:.0f} samples on each board takes {} to compute and {} to exchange; {} boards train {} "
      "times as fast as one would alone",
      round, s.samples_per_round, format_seconds(advice.compute), format_seconds(advice.exchange), s.boards,
      format_number(advice.speedup));
  if (rounds_per_epoch(s, s.samples_per_round) < kFewRounds)
    text += fmt::format("; an epoch has fewer than {} such {}s", kFewRounds, round);
  if (!advice.local_steps) return text;
  text += fmt::format(
      "; with strategy federated and local_steps of at least {} they would train at least {} times as "
      "fast",
      *advice.local_steps, kWorthIt);
  if (rounds_per_epoch(s, static_cast<double>(*advice.local_steps * s.batch)) < kFewRounds)
    text += fmt::format(", but an epoch would have fewer than {} rounds", kFewRounds);
  return text;
}

}  // namespace

std::string Advice::sentence() const {
  const bool one_is_better = boards == 1;
  if (!one_is_better && !local_steps) return "";
  std::string line = one_is_better
                         ? fmt::format("one board would train {:.1f}x as fast as all", speedup > 0 ? 1 / speedup : 0)
                         : fmt::format("{} boards train only {:.1f}x as fast as one", boards, speedup);
  line += fmt::format(" (a step computes {}, exchanges {})", format_seconds(compute), format_seconds(exchange));
  if (local_steps) line += fmt::format("; try --strategy federated --local-steps {}", *local_steps);
  return line;
}

Advice advise(const Speed& s) {
  Advice advice;
  advice.speedup = s.samples_per_s * s.compute;
  advice.boards = advice.speedup < 1 ? 1 : s.boards;
  advice.compute = s.samples_per_round * s.compute;
  const Seconds round = static_cast<double>(s.boards) * s.samples_per_round / s.samples_per_s;
  advice.exchange = std::max(0.0, round - advice.compute);
  if (advice.speedup < kWorthIt) advice.local_steps = local_steps_worth_it(s, advice.exchange);
  advice.why = explain(advice, s);
  return advice;
}

void JobMeter::add(net::Rank rank, std::int64_t samples, Seconds compute) {
  ++answers_;
  samples_ += samples;
  if (samples <= 0 || !std::isfinite(compute) || compute <= 0) return;
  Work& work = by_rank_[rank];
  work.samples += samples;
  work.compute += compute;
}

void JobMeter::end_update(Seconds now, std::size_t workers) {
  const bool others = workers_ != 0 && workers != workers_;
  now_ = now;
  if (others) {
    begin_anew();
    is_warm_ = false;
  }
  workers_ = workers;
  if (is_warm_ || answers_ < kWarmUp * static_cast<std::int64_t>(workers)) return;
  begin_anew();
  is_warm_ = true;
}

void JobMeter::begin_anew() {
  before_ = speed();
  begin_ = now_;
  answers_ = samples_ = 0;
  by_rank_.clear();
}

bool JobMeter::is_settled() const {
  const auto round = static_cast<std::int64_t>(workers_);
  return is_warm_ && answers_ >= round && (answers_ >= kEnough * round || now_ - begin_ >= kLongEnough);
}

std::optional<Speed> JobMeter::speed() const {
  if (workers_ < 2) return std::nullopt;
  const std::optional<Speed> speed = measured();
  return speed ? speed : before_;
}

std::optional<Speed> JobMeter::measured() const {
  if (answers_ < static_cast<std::int64_t>(workers_) || by_rank_.empty() || now_ <= begin_) return std::nullopt;
  std::vector<Seconds> compute;
  for (const auto& [rank, work] : by_rank_) compute.push_back(work.compute / static_cast<double>(work.samples));
  Speed speed;
  speed.boards = workers_;
  speed.samples_per_s = static_cast<double>(samples_) / (now_ - begin_);
  speed.compute = median(std::move(compute));
  speed.samples_per_round = static_cast<double>(samples_) / static_cast<double>(answers_);
  return speed;
}

}  // namespace mangrove::train
