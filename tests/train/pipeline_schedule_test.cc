#include "mangrove/train/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace mangrove::train {
namespace {

using Counts = std::vector<std::int64_t>;

/// "F0 F1 B0 U ...".
std::string text(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    const std::string number = std::to_string(action.micro_batch);
    const bool is_update = action.kind == Action::Kind::update;
    text += (text.empty() ? "" : " ") + (is_update ? "U" : (action.kind == Action::Kind::forward ? "F" : "B") + number);
  }
  return text;
}

std::vector<std::vector<Action>> of_all_stages(Schedule schedule, std::size_t stages, const Counts& counts,
                                               std::int64_t ahead = 0) {
  std::vector<std::vector<Action>> all;
  for (std::size_t s = 0; s < stages; ++s) all.push_back(schedule(s, stages, counts, ahead));
  return all;
}

TEST(Schedule, IsThatOfThePapers) {
  EXPECT_EQ(text(gpipe_schedule(0, 3, Counts{3, 2})), "F0 F1 F2 B0 B1 B2 U F3 F4 B3 B4 U");
  EXPECT_EQ(text(one_f_one_b_schedule(0, 3, Counts{4})), "F0 F1 F2 B0 F3 B1 B2 B3 U");
  EXPECT_EQ(text(one_f_one_b_schedule(2, 3, Counts{3, 1})), "F0 B0 F1 B1 F2 B2 U F3 B3 U");
  EXPECT_EQ(text(one_f_one_b_schedule(0, 4, Counts{2})), "F0 F1 B0 B1 U");
  EXPECT_EQ(text(pipedream_schedule(0, 3, Counts{1, 1, 1, 1, 1})), "F0 F1 F2 B0 U F3 B1 U F4 B2 U B3 U B4 U");
  EXPECT_EQ(text(pipedream_schedule(2, 3, Counts{1, 1})), "F0 B0 U F1 B1 U");
}

TEST(Schedule, HoldsNoMoreThanItMay) {
  for (std::size_t stages = 1; stages <= 5; ++stages) {
    for (std::int64_t count = 1; count <= 12; ++count) {
      for (std::size_t s = 0; s < stages; ++s) {
        const auto behind = static_cast<std::int64_t>(stages - s);
        EXPECT_EQ(most_in_flight(gpipe_schedule(s, stages, Counts{count, count})), count);
        EXPECT_EQ(most_in_flight(one_f_one_b_schedule(s, stages, Counts{count, count})), std::min(count, behind));
        EXPECT_EQ(most_in_flight(one_f_one_b_schedule(s, stages, Counts{count}, 2)), std::min(count, 3 * behind - 2));
        const Counts ones(static_cast<std::size_t>(count), 1);
        EXPECT_EQ(most_in_flight(pipedream_schedule(s, stages, ones)), std::min(count, behind));
      }
    }
  }
}

TEST(Schedule, UpdatesAreLateOnlyInPipedream) {
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(staleness(gpipe_schedule(s, 4, Counts{5, 3})), (Counts{0, 0}));
    EXPECT_EQ(staleness(one_f_one_b_schedule(s, 4, Counts{5, 3})), (Counts{0, 0}));
    Counts expected;
    for (std::int64_t i = 0; i < 8; ++i)
      expected.push_back(std::min<std::int64_t>(i, 3 - static_cast<std::int64_t>(s)));
    EXPECT_EQ(staleness(pipedream_schedule(s, 4, Counts(8, 1))), expected);
    const auto steady = 2 * (3 - static_cast<std::int64_t>(s));
    EXPECT_EQ(staleness(pipedream_schedule(s, 4, Counts(20, 1), 1)).back(), steady);
  }
}

// Huang et al.: (S - 1) / (M + S - 1) of the time.
TEST(Bubbles, OfEqualStagesAreThoseOfThePaper) {
  for (const Schedule schedule : {&gpipe_schedule, &one_f_one_b_schedule}) {
    for (const std::size_t stages : {1, 2, 4, 7}) {
      for (const std::int64_t count : {1, 3, 8, 16}) {
        const std::vector<StageTimes> times(stages, StageTimes{1, 2});
        const double ahead = static_cast<double>(stages) - 1;
        for (const double idle : idle_shares(of_all_stages(schedule, stages, Counts{count}), times))
          EXPECT_NEAR(idle, ahead / (static_cast<double>(count) + ahead), 1e-12) << stages << " " << count;
      }
    }
  }
}

TEST(Bubbles, OfPipedreamVanish) {
  const std::vector<StageTimes> times(4, StageTimes{1, 2});
  for (const double idle : idle_shares(of_all_stages(&pipedream_schedule, 4, Counts(300, 1)), times))
    EXPECT_LT(idle, 0.011);
}

TEST(Bubbles, AreWhereTheFastStagesWait) {
  const std::vector<StageTimes> times = {{1, 1}, {4, 4}, {1, 1}};
  const std::vector<double> idle = idle_shares(of_all_stages(&one_f_one_b_schedule, 3, Counts{40}), times);
  EXPECT_LT(idle[1], 0.02);
  EXPECT_GT(idle[0], 0.7);
  EXPECT_GT(idle[2], 0.7);
}

// Whatever stages take, nobody waits for ever: all are done.
TEST(Bubbles, NoScheduleBlocks) {
  for (const Schedule schedule : {&gpipe_schedule, &one_f_one_b_schedule, &pipedream_schedule}) {
    for (std::size_t stages = 1; stages <= 5; ++stages) {
      std::vector<StageTimes> times;
      for (std::size_t s = 0; s < stages; ++s) times.push_back({1.0 + static_cast<double>(s), 2});
      const Counts counts(6, 1);
      for (const std::int64_t ahead : {0, 1}) {
        const auto idle = idle_shares(of_all_stages(schedule, stages, counts, ahead), times);
        const auto end = [&](std::size_t s) { return 6 * (times[s].forward + times[s].backward) / (1 - idle[s]); };
        for (std::size_t s = 0; s < stages; ++s) EXPECT_NEAR(end(s), end(0), 1e-9);  // the same for all
      }
    }
  }
}

}  // namespace
}  // namespace mangrove::train
