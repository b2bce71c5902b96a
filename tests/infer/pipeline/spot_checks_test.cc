#include "mangrove/infer/pipeline/spot_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace mangrove::infer {
namespace {

constexpr int kClasses = 10;
constexpr std::size_t kWindow = 18;  // micro-batches in flight

/// The answer comes from the last device of this way.
SpotChecks::Step says(SpotChecks& checks, const SpotChecks::Way& way, Predictions predictions) {
  predictions.mutable_trace()->mutable_ranks()->Assign(way.begin(), way.end());
  return checks.take(way.back(), std::move(predictions));
}

/// Devices that each have the whole network.
struct Farm {
  int devices = 8;
  std::int64_t images = 50;  // in a micro-batch
  net::Rank liar = 0;        // 0: all are honest
  double lies = 0.5;         // the share of its micro-batches
  std::uint64_t lies_from = 0;
  double rounding = 0.01;        // share of the answers in which two honest devices differ
  bool has_own_kernels = false;  // only rank 1 rounds otherwise, and always on the same images
  bool has_known = false;        // the answers of rank `known_by` to all images
  net::Rank known_by = 1;
  double share = 0.02;
};

struct Outcome {
  std::set<net::Rank> quarantined;
  std::uint64_t found = 0;  // after so many micro-batches
  std::int64_t copies = 0, redone = 0;
  std::int64_t wrong = 0;       // micro-batches whose answer in the end is a lie
  bool has_seen_twice = false;  // a device, before anybody was quarantined

  /// More than without checks.
  double work(std::uint64_t tasks) const { return static_cast<double>(copies + redone) / static_cast<double>(tasks); }
};

/// Streams micro-batches through a farm, as stream.cc does.
class Stream {
 public:
  Stream(const Farm& farm, std::uint64_t seed)
      : farm_(farm), random_(seed), checks_({.share = farm.share, .rounding = 0.01, .seed = seed + 1000}) {
    for (net::Rank rank = 1; rank <= farm.devices; ++rank) there_.push_back(rank);
    checks_.begin({there_});
  }

  Outcome tasks(std::uint64_t count) {
    if (farm_.has_known) {
      std::vector<std::int32_t> known;
      for (std::uint64_t id = 0; id < count; ++id) {
        const Predictions one = answers(farm_.known_by, id);
        known.insert(known.end(), one.classes().begin(), one.classes().end());
      }
      checks_.know(farm_.known_by, std::move(known), farm_.images);
    }
    for (std::uint64_t id = 0; id < count; ++id) {
      sent_ = id + 1;
      send(id);
      while (on_the_way_.size() > kWindow) arrive();
    }
    while (!on_the_way_.empty()) arrive();
    for (const auto& [id, is_lie] : given_) outcome_.wrong += is_lie ? 1 : 0;
    EXPECT_EQ(given_.size(), count) << "answers";
    outcome_.copies = checks_.counts().copies;
    return outcome_;
  }

 private:
  struct Sent {
    std::uint64_t id;
    net::Rank rank;
  };

  void send(std::uint64_t id) {
    const net::Rank rank = there_[random_.below(there_.size())];
    go(id, rank);
    if (const auto second = checks_.send(id, {rank})) go(id, second->front());
  }

  void go(std::uint64_t id, net::Rank rank) {
    if (!seen_.insert({id, rank}).second && outcome_.quarantined.empty()) outcome_.has_seen_twice = true;
    on_the_way_.push_back({id, rank});
  }

  void arrive() {
    const Sent next = on_the_way_.front();
    on_the_way_.pop_front();
    const SpotChecks::Step step = says(checks_, {next.rank}, answers(next.rank, next.id));
    if (step.ask) go(next.id, step.ask->front());
    if (step.answer) given_[next.id] = step.answer->trace().seconds_size() > 0;
    if (const auto liar = checks_.liar()) quarantine(*liar);
  }

  void quarantine(net::Rank liar) {
    if (outcome_.quarantined.empty()) outcome_.found = sent_;
    outcome_.quarantined.insert(liar);
    std::erase(there_, liar);
    const std::vector<std::uint64_t> again = checks_.quarantine(liar);
    std::set<std::uint64_t> all(again.begin(), again.end());
    for (const Sent& one : on_the_way_) all.insert(one.id);
    outcome_.redone += std::ssize(all);  // with those on their way, which a new plan sends again
    on_the_way_.clear();
    checks_.begin({there_});
    for (const std::uint64_t id : all) send(id);
  }

  /// Lies have a trace, so that the test knows them.
  Predictions answers(net::Rank rank, std::uint64_t id) {
    Predictions predictions;
    predictions.set_micro_batch(id);
    const bool is_lie = rank == farm_.liar && id >= farm_.lies_from && random_.uniform() < farm_.lies;
    if (is_lie) predictions.mutable_trace()->add_seconds(1);
    for (std::int64_t i = 0; i < farm_.images; ++i) {
      const auto right = static_cast<std::int32_t>((id * 7 + static_cast<std::uint64_t>(i)) % kClasses);
      predictions.add_classes(is_lie || rounds(rank, id, i) ? (right + 1) % kClasses : right);
    }
    return predictions;
  }

  bool rounds(net::Rank rank, std::uint64_t id, std::int64_t image) {
    if (farm_.has_own_kernels)
      return rank == 1 && Random(id * 1009 + static_cast<std::uint64_t>(image)).uniform() < farm_.rounding;
    return random_.uniform() < farm_.rounding / 2;
  }

  const Farm farm_;
  Random random_;
  SpotChecks checks_;
  std::vector<net::Rank> there_;
  std::deque<Sent> on_the_way_;
  std::set<std::pair<std::uint64_t, net::Rank>> seen_;
  std::map<std::uint64_t, bool> given_;  // whether the answer is a lie
  std::uint64_t sent_ = 0;
  Outcome outcome_;
};

// RecordProperty: what docs/trust.md says, with --gtest_output=json.

TEST(SpotChecks, FindOneLiarOfEightWithin200MicroBatches) {
  constexpr std::uint64_t kSeeds = 1000;
  for (const std::int64_t images : {50, 1}) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const net::Rank liar = 1 + static_cast<net::Rank>(seed % 8);
      const Outcome outcome = Stream({.images = images, .liar = liar}, seed).tasks(200);
      if (outcome.quarantined.contains(liar)) ++found;
      EXPECT_EQ(outcome.quarantined.size(), outcome.quarantined.count(liar)) << "an honest one too; seed " << seed;
    }
    RecordProperty("found_of_1000_by_" + std::to_string(images), found);
    EXPECT_GE(found, 995) << images;
  }
}

TEST(SpotChecks, CostAtMostThreePercentMoreWorkInALongRun) {
  constexpr std::uint64_t kTasks = 5000, kSeeds = 20;
  for (const net::Rank liar : {0, 5}) {
    double most = 0, sum = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Outcome outcome = Stream({.liar = liar}, seed).tasks(kTasks);
      most = std::max(most, outcome.work(kTasks));
      sum += outcome.work(kTasks);
      EXPECT_EQ(outcome.wrong, 0) << "seed " << seed;
      EXPECT_EQ(outcome.quarantined.size(), liar == 0 ? 0u : 1u) << "seed " << seed;
    }
    RecordProperty("work_with_liar_" + std::to_string(liar), std::to_string(sum / kSeeds));
    RecordProperty("most_work_with_liar_" + std::to_string(liar), std::to_string(most));
    EXPECT_LE(most, 0.03);
  }
}

TEST(SpotChecks, AccuseNoHonestDeviceIn100000MicroBatches) {
  for (const std::int64_t images : {50, 4, 1})
    for (const double rounding : {0.001, 0.01})
      for (const bool has_own_kernels : {false, true})
        for (const bool has_known : {false, true}) {
          const Farm farm{
              .images = images, .rounding = rounding, .has_own_kernels = has_own_kernels, .has_known = has_known};
          EXPECT_EQ(Stream(farm, 7).tasks(100'000).quarantined, std::set<net::Rank>())
              << images << ' ' << rounding << ' ' << has_own_kernels << ' ' << has_known;
        }
}

TEST(SpotChecks, LeaveNoWrongAnswerOfAFoundDevice) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Outcome outcome = Stream({.liar = 3}, seed).tasks(300);
    ASSERT_EQ(outcome.quarantined, std::set<net::Rank>{3}) << "seed " << seed;
    EXPECT_EQ(outcome.wrong, 0) << "seed " << seed;
  }
}

TEST(SpotChecks, FindADeviceThatBeginsToLieLate) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome outcome = Stream({.liar = 3, .lies_from = 3000}, seed).tasks(8000);
    EXPECT_EQ(outcome.quarantined, std::set<net::Rank>{3}) << "seed " << seed;
    EXPECT_GT(outcome.found, 3000u);
  }
}

TEST(SpotChecks, CannotBeToldFromOrdinaryWork) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome outcome = Stream({.liar = 2}, seed).tasks(200);
    EXPECT_FALSE(outcome.has_seen_twice) << "a device got a micro-batch twice; seed " << seed;
  }
}

TEST(SpotChecks, CostNothingWhereAnswersAreKnown) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Outcome outcome = Stream({.liar = 4, .has_known = true}, seed).tasks(200);
    EXPECT_EQ(outcome.quarantined, std::set<net::Rank>{4}) << "seed " << seed;
    EXPECT_EQ(outcome.wrong, 0);
    EXPECT_LT(outcome.copies, 25) << "only to decide disputes";
  }
}

TEST(SpotChecks, BelieveNoKnownAnswersOfALiar) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Outcome outcome = Stream({.liar = 1, .has_known = true}, seed).tasks(200);
    EXPECT_EQ(outcome.quarantined, std::set<net::Rank>{1}) << "seed " << seed;
    EXPECT_EQ(outcome.wrong, 0);
  }
}

Predictions said(std::uint64_t id, std::vector<std::int32_t> classes) {
  Predictions predictions;
  predictions.set_micro_batch(id);
  predictions.mutable_classes()->Assign(classes.begin(), classes.end());
  return predictions;
}

const std::vector<std::int32_t> kRight = {1, 2, 3, 4, 5}, kWrong = {2, 3, 4, 5, 6}, kOther = {3, 4, 5, 6, 7};

/// All micro-batches are checked.
SpotChecks eager(const SpotChecks::Holders& holders) {
  SpotChecks checks({.share = 1, .seed = 5});
  checks.begin(holders);
  return checks;
}

TEST(SpotChecks, AThirdDeviceSaysWhichOfTwoIsRight) {
  for (const bool liar_is_first : {true, false}) {
    SpotChecks checks = eager({{1, 2, 3}});
    const net::Rank first = liar_is_first ? 1 : 2;
    const auto second = checks.send(0, {first});
    ASSERT_TRUE(second);
    const auto answer = [&](net::Rank rank) { return says(checks, {rank}, said(0, rank == 1 ? kWrong : kRight)); };
    EXPECT_FALSE(answer(first).answer) << "waits for the second";
    SpotChecks::Step step = answer(second->front());
    if (step.ask) step = answer(step.ask->front());
    ASSERT_TRUE(step.answer);
    EXPECT_EQ(step.answer->classes(0), kRight[0]);
    EXPECT_EQ(checks.record(1).wrong, checks.record(1).checks);
    EXPECT_EQ(checks.record(2).wrong + checks.record(3).wrong, 0);
    EXPECT_FALSE(checks.liar()) << "once is not enough";
  }
}

TEST(SpotChecks, IgnoreAnswersOfWhoWasNotAsked) {
  SpotChecks checks = eager({{1, 2, 3, 4}});
  const auto second = checks.send(0, {1});
  for (net::Rank rank = 2; rank <= 4; ++rank) {
    if (rank == second->front()) continue;
    const SpotChecks::Step step = says(checks, {rank}, said(0, kWrong));
    EXPECT_FALSE(step.answer || step.ask);
  }
  says(checks, {1}, said(0, kRight));
  const SpotChecks::Step again = says(checks, {1}, said(0, kWrong));
  EXPECT_FALSE(again.answer || again.ask);
  EXPECT_TRUE(says(checks, {second->front()}, said(0, kRight)).answer);
  EXPECT_FALSE(says(checks, {1}, said(0, kRight)).answer) << "it was answered";
}

/// Micro-batch 0 went by ranks 1 and 3, has not come back in time, and goes by ranks 2 and 3 now.
TEST(SpotChecks, IgnoreALateAnswerOfAnEarlierWay) {
  SpotChecks checks = eager({{1, 2}, {3, 4}});
  checks.send(0, {1, 3});
  EXPECT_FALSE(checks.overdue(0).answer);
  const auto second = checks.send(0, {2, 3});
  ASSERT_EQ(second, (SpotChecks::Way{1, 4}));
  says(checks, {1, 3}, said(0, kWrong));
  EXPECT_FALSE(says(checks, {1, 4}, said(0, kRight)).answer) << "waits for ranks 2 and 3";
  EXPECT_TRUE(says(checks, {2, 3}, said(0, kRight)).answer);
  EXPECT_EQ(checks.counts().disputes, 0);
  EXPECT_EQ(checks.record(2).wrong, 0);
}

TEST(SpotChecks, AnyStageMayHaveMissedTheDeadline) {
  for (const net::Rank late : {1, 3}) {
    SpotChecks checks = eager({{1, 2}, {3, 4}});
    ASSERT_EQ(checks.send(0, {1, 3}), (SpotChecks::Way{2, 4}));
    Predictions missed = said(0, {});
    missed.set_missed(true);
    says(checks, {2, 4}, said(0, kRight));
    const SpotChecks::Step step = checks.take(late, missed);
    ASSERT_TRUE(step.answer) << late;
    EXPECT_FALSE(step.answer->missed()) << late;
  }
}

TEST(SpotChecks, KnownAnswersDoNotConfirmWhoHasGivenThem) {
  SpotChecks checks = eager({{1, 2, 3}});
  checks.know(1, kWrong, 5);
  std::optional<SpotChecks::Way> way = checks.send(0, {1});
  ASSERT_TRUE(way) << "others answer too";
  EXPECT_FALSE(says(checks, {1}, said(0, kWrong)).answer);
  way = says(checks, *way, said(0, kRight)).ask;
  ASSERT_TRUE(way) << "they differ";
  EXPECT_EQ(says(checks, *way, said(0, kRight)).answer->classes(0), kRight[0]);
  EXPECT_EQ(checks.record(1).wrong, 1);
  EXPECT_EQ(checks.record(2).wrong + checks.record(3).wrong, 0);
  EXPECT_FALSE(checks.send(1, {2})) << "the known answers are those of another one";
}

TEST(SpotChecks, CanCompareNothingWithAStageOfOneDevice) {
  SpotChecks checks = eager({{1, 2, 3}});
  EXPECT_TRUE(checks.can_compare({{1, 2}, {3, 4}}));
  EXPECT_FALSE(checks.can_compare({{1, 2}, {3}}));
  checks.know(4, kRight, 5);
  EXPECT_TRUE(checks.can_compare({{1, 2}, {3}}));
  EXPECT_FALSE(checks.can_compare({{1, 2}, {4}}));
}

TEST(SpotChecks, NameAMicroBatchOfTwoLiarsOnce) {
  SpotChecks checks({.share = 1e-4, .seed = 5});
  checks.begin({{1, 2}, {3, 4}});
  checks.send(0, {1, 3});
  ASSERT_TRUE(says(checks, {1, 3}, said(0, kWrong)).answer);
  EXPECT_EQ(checks.quarantine(1), std::vector<std::uint64_t>{0});
  EXPECT_EQ(checks.quarantine(3), std::vector<std::uint64_t>());
}

TEST(SpotChecks, AskADeviceThatNeverAnswersNoMoreOftenThanOthers) {
  SpotChecks checks = eager({{1, 2, 3, 4}});
  int asked = 0;
  for (std::uint64_t id = 0; id < 300; ++id) {
    const auto second = checks.send(id, {1});
    ASSERT_TRUE(second);
    says(checks, {1}, said(id, kRight));
    if (second->front() == 2) ++asked;
    if (second->front() != 2) says(checks, *second, said(id, kRight));
  }
  EXPECT_LE(asked, 101);
}

TEST(SpotChecks, AccuseNobodyWhereNobodyCanDecide) {
  SpotChecks pair = eager({{1, 2}});
  EXPECT_FALSE(pair.send(0, {1})) << "of two that differ nobody knows who is wrong";
  SpotChecks checks = eager({{1, 2, 3}});
  for (std::uint64_t id = 0; id < 50; ++id) {
    std::optional<SpotChecks::Way> way = checks.send(id, {1});
    says(checks, {1}, said(id, kWrong));
    while (way) {
      const net::Rank rank = way->front();
      way = says(checks, {rank}, said(id, rank == 2 ? kRight : kOther)).ask;
    }
  }
  EXPECT_FALSE(checks.liar());
  EXPECT_TRUE(checks.is_unclear());
  EXPECT_EQ(checks.counts().open, 50);
}

TEST(SpotChecks, CannotTellWhichStageOfAWayLies) {
  SpotChecks checks = eager({{1, 2}, {3, 4}});
  std::uint64_t id = 0;
  for (; !checks.is_unclear(); ++id) {
    ASSERT_LT(id, 10u);
    const auto second = checks.send(id, {1, 3});
    ASSERT_TRUE(second);
    EXPECT_EQ(*second, (SpotChecks::Way{2, 4})) << "no device has a part in both";
    says(checks, {1, 3}, said(id, kWrong));
    EXPECT_TRUE(says(checks, {2, 4}, said(id, kRight)).answer) << "nobody else can be asked";
  }
  EXPECT_FALSE(checks.liar());
  checks.begin({{1, 2, 3, 4}});  // the whole network on each
  for (; !checks.liar(); ++id) {
    ASSERT_LT(id, 20u);
    std::optional<SpotChecks::Way> way = SpotChecks::Way{1};
    const auto second = checks.send(id, *way);
    const auto answer = [&](net::Rank rank) { return says(checks, {rank}, said(id, rank == 1 ? kWrong : kRight)).ask; };
    answer(1);
    for (way = second; way;) way = answer(way->front());
  }
  EXPECT_EQ(checks.liar(), 1);
  const std::vector<std::uint64_t> again = checks.quarantine(1);
  EXPECT_GE(again.size(), 2u) << "those of the time when nobody knew";
  EXPECT_FALSE(checks.liar() || checks.is_unclear());
  EXPECT_TRUE(checks.record(1).is_quarantined);
}

TEST(SpotChecks, TakeAnAnswerThatIsInTime) {
  SpotChecks checks = eager({{1, 2, 3}});
  Predictions missed = said(0, {});
  missed.set_missed(true);
  const auto second = checks.send(0, {1});
  says(checks, {1}, said(0, kRight));
  EXPECT_EQ(says(checks, {second->front()}, missed).answer->classes_size(), 5);
  missed.set_micro_batch(1);
  const auto other = checks.send(1, {1});
  EXPECT_FALSE(says(checks, {1}, missed).answer) << "the other may be in time";
  EXPECT_EQ(says(checks, *other, said(1, kRight)).answer->classes_size(), 5);
  missed.set_micro_batch(2);
  const auto late = checks.send(2, {1});
  says(checks, {1}, missed);
  EXPECT_TRUE(says(checks, *late, missed).answer->missed());
  EXPECT_EQ(checks.counts().checks, 0);
}

/// Two differ, and the third one is silent or too late.
TEST(SpotChecks, SuspectWhoDiffersWhereNobodyDecidesInTime) {
  for (const bool is_missed : {false, true}) {
    for (const bool has_known : {false, true}) {
      SpotChecks checks = eager({{1, 2, 3, 4}});
      if (has_known) checks.know(4, kOther, 5);
      Predictions missed = said(0, {});
      missed.set_missed(true);
      std::optional<SpotChecks::Way> way = checks.send(0, {1});
      SpotChecks::Step step = says(checks, {1}, said(0, kRight));
      if (!has_known) step = says(checks, *way, said(0, kWrong));
      ASSERT_TRUE(step.ask);
      step = is_missed ? says(checks, *step.ask, missed) : checks.overdue(0);
      EXPECT_EQ(step.answer->classes(0), kRight[0]) << "the first one";
      EXPECT_EQ(checks.counts().open, 1);
      EXPECT_EQ(checks.record(1).wrong, 1) << "nobody knows";
      EXPECT_FALSE(checks.overdue(0).answer) << "it was answered";
    }
  }
}

TEST(SpotChecks, TakeWhatIsThereWhereTheOtherIsSilent) {
  SpotChecks checks = eager({{1, 2, 3}});
  checks.send(0, {1});
  EXPECT_FALSE(says(checks, {1}, said(0, kRight)).answer);
  EXPECT_TRUE(checks.overdue(0).answer);
  EXPECT_EQ(checks.quarantine(1), std::vector<std::uint64_t>{0}) << "nobody has confirmed it";
}

TEST(SpotChecks, CompareWhichFramesAreNoImages) {
  SpotChecks checks = eager({{1, 2, 3}});
  const auto second = checks.send(0, {1});
  Predictions without = said(0, kRight);
  for (std::uint32_t row = 0; row < 5; ++row) without.add_unreadable()->set_row(row);
  says(checks, {1}, without);
  EXPECT_TRUE(says(checks, {second->front()}, said(0, kRight)).ask);
}

TEST(SpotChecks, TakeAnAnswerWithoutClassesForWrong) {
  for (const bool is_first : {true, false}) {
    SpotChecks checks = eager({{1, 2, 3}});
    const auto second = checks.send(0, {1});
    says(checks, {1}, said(0, is_first ? std::vector<std::int32_t>() : kRight));
    EXPECT_TRUE(says(checks, {second->front()}, said(0, is_first ? kRight : std::vector<std::int32_t>())).ask);
  }
}

TEST(SpotChecks, JudgeNothingWhereAnswersMeanNothing) {
  SpotChecks checks({.share = 1, .seed = 5, .judges = false});
  checks.begin({{1, 2, 3}});
  for (std::uint64_t id = 0; id < 50; ++id) {
    const auto second = checks.send(id, {1});
    says(checks, {1}, said(id, kWrong));
    EXPECT_TRUE(says(checks, {second->front()}, said(id, kRight)).answer);
  }
  EXPECT_FALSE(checks.liar() || checks.is_unclear());
}

/// The likelihood ratio has a mean of at most 1 for an honest device, so that Ville's inequality holds.
TEST(Evidence, SaysOnAverageNothingAgainstAnHonestDevice) {
  for (const double rounding : {0.01, 0.05})  // of float32 and fp16, and of int8
    for (const int n : {1, 2, 4, 50, 1000})
      for (const double share : {0.1, 0.5, 1.0}) {
        const double p = share * rounding;
        double mean = 0, probability = std::pow(1 - p, n), before = -1;
        for (int k = 0; k <= n; ++k) {
          EXPECT_GE(evidence(k, n, rounding), before) << k << " of " << n;
          before = evidence(k, n, rounding);
          mean += probability * std::exp(evidence(k, n, rounding));
          probability *= (n - k) / (k + 1.0) * p / (1 - p);
        }
        EXPECT_LE(mean, 1 + 1e-9) << n << ' ' << p << ' ' << rounding;
      }
  EXPECT_NEAR(evidence(0, 1, 0.01), -0.357, 0.001);
  EXPECT_NEAR(evidence(1, 1, 0.01), 3.42, 0.01);
  EXPECT_NEAR(evidence(3, 50, 0.01), 0.17, 0.01);
  EXPECT_NEAR(evidence(4, 50, 0.01), 1.57, 0.01);
  EXPECT_NEAR(evidence(7, 50, 0.01), 9.13, 0.01);
  EXPECT_DOUBLE_EQ(evidence(8, 50, 0.01), 9.5);
}

}  // namespace
}  // namespace mangrove::infer
