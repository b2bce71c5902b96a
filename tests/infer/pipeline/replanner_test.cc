#include "mangrove/infer/pipeline/replanner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/infer/inference_job.h"

#include "mangrove/base/random.h"

namespace mangrove::infer {
namespace {

const std::vector<Seconds> kOperatorSeconds = {0.04, 0, 0.02, 0, 0.03, 0, 0.03};  // of small_graph's, at speed 1
constexpr std::int64_t kMicroBatch = 8;
constexpr Seconds kPause = 1;

net::Rank rank_of(const StagePlan::Stage& stage) {
  return stage.replicas.front().rank;
}

/// Boards of some speed, and links of some rate, that run the plans of a Replanner.
class ReplannerBoards {
 public:
  /// In so many stages of one board; 0: one for each board.
  explicit ReplannerBoards(int count, BytesPerSecond rate = 0, int stages = 0) : rate_(rate) {
    InferJob job = small_job(0, stages > 0 ? stages : count);
    job.set_micro_batch(kMicroBatch);
    for (net::Rank rank = 1; rank <= count; ++rank) {
      ranks_.push_back(rank);
      speed_[rank] = 1;
      measured_.push_back({.rank = rank,
                           .name = "node-" + std::to_string(rank),
                           .host = "host-" + std::to_string(rank),
                           .cores = 4,
                           .operator_seconds = kOperatorSeconds,
                           .rate = rate});
    }
    replanner_.emplace(graph_, measured_, job);
    use(*replanner_->plan(ranks_));
  }

  const StagePlan& plan() const { return plan_; }
  void set_speed(net::Rank rank, double speed) { speed_[rank] = speed; }
  void set_rate(BytesPerSecond rate) { rate_ = rate; }
  /// Times vary by this share up and down, and one in twenty is ten times as long.
  void set_noise(double noise) { noise_ = noise; }

  /// Runs so many rounds; returns how often the plan was changed.
  int run(int rounds, std::optional<double> left = 1e6) {
    int changes = 0;
    for (int i = 0; i < rounds * Replanner::kRound; ++i) {
      one();
      if (auto better = replanner_->revise(plan_, ranks_, {left, kPause})) {
        ++changes;
        use(std::move(*better));
      }
    }
    return changes;
  }

  /// As it really is: of the slowest board or link.
  Seconds period() const {
    std::map<net::Rank, Seconds> busy;
    for (const StagePlan::Stage& stage : plan_.stages) busy[rank_of(stage)] += seconds(stage);
    Seconds most = 0;
    for (const auto& [rank, seconds] : busy) most = std::max(most, seconds);
    for (const StagePlan::Stage& stage : plan_.stages) most = std::max(most, sending(stage));
    return most;
  }

 private:
  void use(StagePlan plan) {
    plan_ = std::move(plan);
    replanner_->begin(plan_);
    waiting_ = 0;
  }
  Seconds seconds(const StagePlan::Stage& stage) const {
    Seconds sum = 0;
    for (const std::uint32_t node : stage.nodes) sum += kOperatorSeconds[node];
    return sum / speed_.at(rank_of(stage));
  }
  Seconds sending(const StagePlan::Stage& stage) const {
    return rate_ > 0 ? static_cast<double>(kMicroBatch * stage.bytes_per_image) / rate_ : 0;
  }
  double vary() {
    if (noise_ == 0) return 1;
    return random_.below(20) == 0 ? 10 : 1 + noise_ * (2 * random_.uniform() - 1);
  }

  void one() {
    Trace trace;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const StagePlan::Stage& stage = plan_.stages[s];
      trace.add_seconds(seconds(stage) * vary());
      trace.add_queued(0);
      trace.add_ranks(rank_of(stage));
      if (s + 1 == plan_.stages.size()) continue;
      trace.add_sent_bytes(kMicroBatch * stage.bytes_per_image);
      const bool limits = sending(stage) == period();
      waiting_ = limits ? std::min(waiting_ + 1, 5) : 0;                    // of the window
      trace.add_transit(17.25 + sending(stage) * (1 + waiting_) * vary());  // the clocks differ
    }
    now_ = now_ + period() * vary();
    replanner_->add(trace, now_);
  }

  const Graph graph_ = small_graph();
  std::vector<DeviceProfile> measured_;
  net::RankSet ranks_;
  std::map<net::Rank, double> speed_;
  BytesPerSecond rate_;
  double noise_ = 0;
  int waiting_ = 0;
  Random random_{1};
  std::optional<Replanner> replanner_;
  StagePlan plan_;
  Instant now_{5};
};

TEST(Replanner, LeavesAPlanThatIsKeptTo) {
  ReplannerBoards boards(3);
  EXPECT_EQ(boards.run(50), 0);
}

TEST(Replanner, TakesWorkFromABoardThatBecameSlower) {
  ReplannerBoards boards(3);
  ASSERT_EQ(boards.plan().stages.size(), 3u);
  boards.run(2);
  boards.set_speed(rank_of(boards.plan().stages[0]), 0.25);
  const Seconds before = boards.period();
  EXPECT_EQ(boards.run(1), 0) << "a round may be chance";
  EXPECT_EQ(boards.run(3), 1);
  EXPECT_LT(boards.period(), before / 2);
  EXPECT_NEAR(boards.period(), boards.plan().period, 1e-4) << "it is taken for what it is";
  EXPECT_EQ(boards.run(100), 0);
}

TEST(Replanner, ASpareBoardTakesOver) {
  ReplannerBoards boards(3, 0, /*stages=*/2);
  boards.run(2);
  const net::Rank slow = rank_of(boards.plan().stages[1]);
  boards.set_speed(slow, 0.25);
  EXPECT_EQ(boards.run(5), 1);
  for (const StagePlan::Stage& stage : boards.plan().stages) EXPECT_NE(rank_of(stage), slow);
}

TEST(Replanner, ABoardThatIsFastAgainGetsItsWorkBack) {
  ReplannerBoards boards(2);
  const Seconds at_first = boards.period();
  boards.set_speed(1, 0.5);
  EXPECT_EQ(boards.run(5), 1);
  ASSERT_EQ(boards.plan().stages.size(), 2u) << "else nothing is known of it";
  boards.set_speed(1, 1);
  EXPECT_EQ(boards.run(100), 1);
  EXPECT_NEAR(boards.period(), at_first, 1e-4);
}

TEST(Replanner, DoesNotFlapUnderNoise) {
  for (const double noise : {0.1, 0.25}) {
    ReplannerBoards boards(3, 1e6);
    boards.set_noise(noise);
    EXPECT_EQ(boards.run(300), 0) << noise;
    boards.set_speed(rank_of(boards.plan().stages[0]), 0.25);
    const int changes = boards.run(300);
    EXPECT_GE(changes, 1) << noise;
    EXPECT_LE(changes, 2) << noise;
  }
}

TEST(Replanner, CountsThePause) {
  ReplannerBoards boards(3);
  boards.set_speed(rank_of(boards.plan().stages[0]), 0.25);
  const double gain = boards.period() / 2;  // at most, a micro-batch
  EXPECT_EQ(boards.run(20, kPause / gain), 0) << "less than it costs";
  EXPECT_EQ(boards.run(100, std::nullopt), 1) << "nobody knows how many are to come";
}

TEST(Replanner, CutsElsewhereWhereALinkBecameSlower) {
  ReplannerBoards boards(2, 1e6);
  ASSERT_EQ(boards.plan().stages.size(), 2u);
  EXPECT_EQ(boards.run(20), 0);
  boards.set_rate(2e4);
  const Seconds before = boards.period();
  EXPECT_EQ(boards.run(6), 1);
  EXPECT_LT(boards.period(), before / 2);
  EXPECT_EQ(boards.run(100), 0);
}

TEST(Replanner, PlansForRanksThatWereNotMeasured) {
  const Graph graph = small_graph();
  const InferJob job = small_job(0, 2);
  const Replanner revision(graph, {{.rank = 1, .name = "a", .host = "a", .operator_seconds = kOperatorSeconds}}, job);
  const Result<StagePlan> plan = revision.plan({2, 7});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const StagePlan::Stage& stage : plan->stages) EXPECT_TRUE(stage.has(2) || stage.has(7));
}

}  // namespace
}  // namespace mangrove::infer
