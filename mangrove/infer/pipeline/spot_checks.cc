#include "mangrove/infer/pipeline/spot_checks.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace mangrove::infer {
namespace {

constexpr double kLies = 0.3;             // q: share of its micro-batches about which a liar lies, for the test
constexpr double kMostEvidence = 9.5;     // of one check
const double kConvicts = std::log(1e8);   // h
constexpr double kMostFirstChecks = 10;   // of a device, that come fast
constexpr double kFirstShare = 1.0 / 3;   // of its micro-batches until then
constexpr double kTowardsSuspects = 0.2;  // of the micro-batches of others, that suspects get too
constexpr double kAhead = 0.5;            // times the share, for a device that has had more checks than that

/// log Binomial(k; n, p)
double log_binomial(double k, double n, double p) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) + (n - k) * std::log1p(-p);
}

void add(double evidence, double& sum) {
  sum = std::max(0.0, sum + evidence);
}

bool have_common(const SpotChecks::Way& a, const SpotChecks::Way& b) {
  return std::ranges::any_of(a, [&](net::Rank rank) { return std::ranges::count(b, rank) > 0; });
}

/// The classes; -1 for a frame that is said to be no image.
std::vector<std::int32_t> answers_of(const Predictions& predictions) {
  std::vector<std::int32_t> answers(predictions.classes().begin(), predictions.classes().end());
  for (const Unreadable& frame : predictions.unreadable())
    if (frame.row() < answers.size()) answers[frame.row()] = -1;
  return answers;
}

SpotChecks::Way each_once(SpotChecks::Way way) {
  std::ranges::sort(way);
  way.erase(std::unique(way.begin(), way.end()), way.end());
  return way;
}

}  // namespace

double evidence(std::int64_t k, std::int64_t n, double rounding) {
  if (k <= 0 || n <= 0) return std::log(1 - kLies);
  const auto count = static_cast<double>(n);
  const double mode = std::floor((count + 1) * rounding);
  const double differing = std::clamp(static_cast<double>(k), mode, count);
  const double ratio = -std::log(count) - log_binomial(differing, count, rounding);
  return std::min(kMostEvidence, std::log(1 - kLies + kLies * std::exp(std::min(ratio, 2 * kMostEvidence))));
}

SpotChecks::SpotChecks(const SpotCheckOptions& options)
    : options_(options),
      first_checks_(std::llround(std::min(kMostFirstChecks, 500 * options.share))),
      random_(options.seed) {}

void SpotChecks::know(net::Rank by, std::vector<std::int32_t> answers, std::int64_t micro_batch) {
  known_by_ = author_rank_ = by;
  known_ = std::move(answers);
  micro_batch_ = static_cast<std::size_t>(micro_batch);
}

bool SpotChecks::can_compare(const Holders& holders) const {
  return std::ranges::all_of(
      holders, [&](const Way& stage) { return stage.size() > 1 || (known_by_ && stage.front() != known_by_); });
}

void SpotChecks::begin(Holders holders) {
  holders_ = std::move(holders);
  open_.clear();
  Way all;
  for (const std::vector<net::Rank>& stage : holders_) all.insert(all.end(), stage.begin(), stage.end());
  ranks_ = each_once(std::move(all)).size();
}

std::optional<SpotChecks::Way> SpotChecks::send(std::uint64_t id, const Way& way) {
  Opinions& opinions = open_[id] = {{way, each_once(way), {}}};
  const Way& devices = opinions.front().devices;
  for (const net::Rank rank : devices) ++devices_[rank].micro_batches;
  if (are_known_for(devices) || ranks_ < kFewest || random_.uniform() >= share_of(devices)) return std::nullopt;
  std::optional<Way> second = ask_one_more(opinions);
  if (second) count_asked(opinions.front().devices);
  return second;
}

void SpotChecks::count_asked(const Way& devices) {
  for (const net::Rank rank : devices) ++devices_[rank].asked;
}

/// Whether there are known answers by somebody else: who lies would agree with its own lies.
bool SpotChecks::are_known_for(const Way& devices) const {
  return known_by_ && std::ranges::count(devices, *known_by_) == 0;
}

/// The probability that a micro-batch of these devices is drawn.
double SpotChecks::share_of(const Way& devices) const {
  double share = 0;
  for (const net::Rank rank : devices) {
    const Device& device = devices_.at(rank);
    // in a long run each copy gives checks to two ways
    const bool is_ahead =
        static_cast<double>(device.checks) > 2 * options_.share * static_cast<double>(device.micro_batches);
    double own = is_ahead ? kAhead * options_.share : options_.share;
    if (device.checks < first_checks_) own = std::max(kFirstShare, own);
    share = std::max(share, device.suspicion > 0 ? 1 : own);
  }
  const auto is_suspect = [](const auto& entry) { return entry.second.suspicion > 0; };
  return std::ranges::any_of(devices_, is_suspect) ? std::max(share, kTowardsSuspects) : share;
}

/// A way that shares no device with these opinions, which it joins. Nothing: there is none. Suspects are checked first,
/// and decide last.
std::optional<SpotChecks::Way> SpotChecks::ask_one_more(Opinions& opinions) {
  Way way;
  for (const std::vector<net::Rank>& holders : holders_) {
    using Choice = std::tuple<bool, std::int64_t, std::uint64_t, net::Rank>;
    std::optional<Choice> best;
    for (const net::Rank rank : holders) {
      const auto has_part = [&](const Opinion& opinion) { return std::ranges::count(opinion.devices, rank) > 0; };
      if (std::ranges::any_of(opinions, has_part)) continue;
      const Device& device = devices_[rank];
      const bool decides = opinions.size() > 1;
      const Choice choice((device.suspicion > 0) == decides, device.asked, random_.next(), rank);
      if (!best || choice < *best) best = choice;
    }
    if (!best) return std::nullopt;
    way.push_back(std::get<net::Rank>(*best));
  }
  opinions.push_back({way, each_once(way), {}});
  count_asked(opinions.back().devices);
  ++counts_.copies;
  return way;
}

/// Whether this is what the rank was asked for. A late answer of a way that the micro-batch went before is not.
bool SpotChecks::Opinion::may_come(net::Rank from, const Predictions& said) const {
  if (is_known() || predictions) return false;
  if (said.missed()) return std::ranges::count(devices, from) > 0;
  return from == way.back() && std::ranges::equal(said.trace().ranks(), way);
}

SpotChecks::Step SpotChecks::take(net::Rank from, Predictions predictions) {
  const auto found = open_.find(predictions.micro_batch());
  if (found == open_.end()) return {};
  Opinions& opinions = found->second;
  const auto asked =
      std::ranges::find_if(opinions, [&](const Opinion& opinion) { return opinion.may_come(from, predictions); });
  if (asked == opinions.end()) return {};
  const bool is_missed = predictions.missed();
  if (is_missed && opinions.size() == 1) {
    open_.erase(found);
    return {std::move(predictions), {}};
  }
  if (is_missed) opinions.erase(asked);
  if (!is_missed) asked->predictions = std::move(predictions);
  if (std::ranges::any_of(opinions, [](const Opinion& opinion) { return !opinion.predictions; })) return {};
  return conclude(found, !is_missed);
}

SpotChecks::Step SpotChecks::overdue(std::uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return {};
  std::erase_if(found->second, [](const Opinion& opinion) { return !opinion.predictions; });
  if (!found->second.empty()) return conclude(found, false);
  open_.erase(found);
  return {};
}

/// All opinions are there; at least one.
SpotChecks::Step SpotChecks::conclude(Open open, bool may_ask) {
  Opinions& opinions = open->second;
  if (opinions.size() == 1) add_known(open->first, opinions);
  return opinions.size() == 1 ? give(open, 0, false) : decide(open, may_ask);
}

void SpotChecks::add_known(std::uint64_t id, Opinions& opinions) {
  if (!are_known_for(opinions.front().devices)) return;
  const std::size_t begin = id * micro_batch_;
  if (begin >= known_.size()) return;
  count_asked(opinions.front().devices);
  Opinion& opinion = opinions.emplace_back();
  opinion.devices = {*known_by_};
  Predictions& predictions = opinion.predictions.emplace();
  const std::size_t end = std::min(begin + micro_batch_, known_.size());
  for (std::size_t i = begin; i < end; ++i) predictions.add_classes(known_[i]);
}

double SpotChecks::difference(const Opinion& a, const Opinion& b) const {
  const std::vector<std::int32_t> of_a = answers_of(*a.predictions), of_b = answers_of(*b.predictions);
  const auto count = std::max(std::ssize(of_a), std::ssize(of_b));
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < of_a.size(); ++i) differing += i < of_b.size() && of_a[i] == of_b[i] ? 0 : 1;
  if (of_a.size() != of_b.size()) differing = count;
  return evidence(options_.judges ? differing : 0, count, options_.rounding);
}

/// All opinions are there; at least two.
SpotChecks::Step SpotChecks::decide(Open open, bool may_ask) {
  Opinions& opinions = open->second;
  const std::optional<std::pair<std::size_t, std::size_t>> right = agreeing(opinions);
  if (!right && may_ask) {
    if (const std::optional<Way> way = ask_one_more(opinions)) return {{}, way};
  }
  ++counts_.checks;
  if (!right || opinions.size() > 2) ++counts_.disputes;
  if (!right) return leave_open(open);
  const auto [first, second] = *right;
  for (std::size_t i = 0; i < opinions.size(); ++i)
    judge(opinions[i], difference(opinions[i], opinions[i == first ? second : first]), true);
  return give(open, opinions[first].is_known() ? second : first,
              !have_common(opinions[first].devices, opinions[second].devices));
}

/// The first two opinions that agree.
std::optional<std::pair<std::size_t, std::size_t>> SpotChecks::agreeing(const Opinions& opinions) const {
  for (std::size_t b = 1; b < opinions.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      if (difference(opinions[a], opinions[b]) <= 0) return std::pair(a, b);
  return std::nullopt;
}

/// Nobody can say which opinion is right.
SpotChecks::Step SpotChecks::leave_open(Open open) {
  const Opinions& opinions = open->second;
  ++counts_.open;
  for (std::size_t i = 0; i < opinions.size(); ++i) {
    double least = kMostEvidence;
    for (std::size_t j = 0; j < opinions.size(); ++j)
      if (j != i) least = std::min(least, difference(opinions[i], opinions[j]));
    judge(opinions[i], least, false);
  }
  return give(open, 0, false);
}

void SpotChecks::judge(const Opinion& opinion, double evidence, bool is_decided) {
  const bool convicts = is_decided && opinion.devices.size() == 1;
  for (const net::Rank rank : opinion.devices) {
    Device& device = opinion.is_known() ? author_ : devices_[rank];
    ++device.checks;
    if (evidence > 0) ++device.wrong;
    add(evidence, device.suspicion);
    if (evidence <= 0 || convicts) add(evidence, device.proof);
  }
}

SpotChecks::Step SpotChecks::give(Open open, std::size_t opinion, bool is_confirmed) {
  Opinion& given = open->second[opinion];
  for (const net::Rank rank : given.devices) {
    std::deque<std::uint64_t>& unconfirmed = devices_[rank].unconfirmed;
    if (is_confirmed) continue;
    unconfirmed.push_back(open->first);
    if (unconfirmed.size() > kMostRemembered) unconfirmed.pop_front();
  }
  Step step{std::move(given.predictions), {}};
  open_.erase(open);
  return step;
}

std::optional<net::Rank> SpotChecks::liar() const {
  for (const auto& [rank, device] : devices_)
    if (device.proof >= kConvicts) return rank;
  return author_.proof >= kConvicts ? known_by_ : std::nullopt;
}

bool SpotChecks::is_unclear() const {
  return std::ranges::any_of(devices_, [](const auto& entry) { return entry.second.suspicion >= kConvicts; });
}

std::vector<SpotChecks::Record> SpotChecks::records() const {
  std::vector<Record> all;
  for (const auto& [rank, device] : devices_) all.push_back(record(rank));
  if (author_rank_ && !devices_.contains(*author_rank_)) all.push_back(record(*author_rank_));
  return all;
}

SpotChecks::Record SpotChecks::record(net::Rank rank) const {
  Record record{.rank = rank};
  const auto add = [&](const Device& device) {
    record.checks += device.checks;
    record.wrong += device.wrong;
    record.is_quarantined |= device.is_quarantined;
  };
  if (const auto found = devices_.find(rank); found != devices_.end()) add(found->second);
  if (author_rank_ == rank) add(author_);
  return record;
}

std::vector<std::uint64_t> SpotChecks::quarantine(net::Rank rank) {
  Device& liar = devices_[rank];
  liar.is_quarantined = true;
  for (auto& [other, device] : devices_) device.suspicion = device.proof = 0;
  author_.suspicion = author_.proof = 0;
  if (known_by_ == rank) {
    known_by_.reset();
    known_.clear();
  }
  const std::set<std::uint64_t> again(liar.unconfirmed.begin(), liar.unconfirmed.end());
  for (auto& [other, device] : devices_)  // what is done again has other answers
    std::erase_if(device.unconfirmed, [&](std::uint64_t id) { return again.contains(id); });
  return {again.begin(), again.end()};
}

}  // namespace mangrove::infer
