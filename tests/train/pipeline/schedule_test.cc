#include "mangrove/train/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace mangrove::train {
namespace {

using Counts = std::vector<std::int64_t>;

/// "F0 F1 B0 U ...".
std::string schedule_text(const std::vector<Action>& actions) {
  std::string schedule_text;
  for (const Action& action : actions) {
    const std::string number = std::to_string(action.micro_batch);
    const bool is_update = action.kind == Action::Kind::update;
    schedule_text += (schedule_text.empty() ? "" : " ") +
                     (is_update ? "U" : (action.kind == Action::Kind::forward ? "F" : "B") + number);
  }
  return schedule_text;
}

/// Stage s of so many, of one device each.
StageWidth width(std::size_t stage, std::size_t stages) {
  return {.devices = 1, .behind = stages - 1 - stage};
}

/// All devices of stages that have as many as `widths` says, and each take so long.
std::vector<StageWorkload> workloads(Schedule schedule, const std::vector<std::size_t>& widths, const Counts& counts,
                                     const std::vector<std::pair<Seconds, Seconds>>& times, std::int64_t ahead = 0) {
  std::vector<StageWorkload> all;
  for (std::size_t s = 0; s < widths.size(); ++s) {
    const StageWidth place = width_of(widths, s);
    const auto owners = deal(counts, std::vector<double>(widths[s], 1));
    for (std::size_t replica = 0; replica < widths[s]; ++replica)
      all.push_back({s, actions_of(schedule(place, counts, ahead), owners, replica), times[s].first, times[s].second});
  }
  return all;
}

TEST(Schedule, IsThatOfThePapers) {
  EXPECT_EQ(schedule_text(gpipe_schedule(width(0, 3), Counts{3, 2})), "F0 F1 F2 B0 B1 B2 U F3 F4 B3 B4 U");
  EXPECT_EQ(schedule_text(one_f_one_b_schedule(width(0, 3), Counts{4})), "F0 F1 F2 B0 F3 B1 B2 B3 U");
  EXPECT_EQ(schedule_text(one_f_one_b_schedule(width(2, 3), Counts{3, 1})), "F0 B0 F1 B1 F2 B2 U F3 B3 U");
  EXPECT_EQ(schedule_text(one_f_one_b_schedule(width(0, 4), Counts{2})), "F0 F1 B0 B1 U");
  EXPECT_EQ(schedule_text(pipedream_schedule(width(0, 3), Counts{1, 1, 1, 1, 1})),
            "F0 F1 F2 B0 U F3 B1 U F4 B2 U B3 U B4 U");
  EXPECT_EQ(schedule_text(pipedream_schedule(width(2, 3), Counts{1, 1})), "F0 B0 U F1 B1 U");
}

TEST(Schedule, HoldsNoMoreThanItMay) {
  for (std::size_t stages = 1; stages <= 5; ++stages) {
    for (std::int64_t count = 1; count <= 12; ++count) {
      for (std::size_t s = 0; s < stages; ++s) {
        const auto behind = static_cast<std::int64_t>(stages - s);
        EXPECT_EQ(most_in_flight(gpipe_schedule(width(s, stages), Counts{count, count})), count);
        EXPECT_EQ(most_in_flight(one_f_one_b_schedule(width(s, stages), Counts{count, count})),
                  std::min(count, behind));
        EXPECT_EQ(most_in_flight(one_f_one_b_schedule(width(s, stages), Counts{count}, 2)),
                  std::min(count, 3 * behind - 2));
        const Counts ones(static_cast<std::size_t>(count), 1);
        EXPECT_EQ(most_in_flight(pipedream_schedule(width(s, stages), ones)), std::min(count, behind));
      }
    }
  }
}

TEST(Schedule, UpdatesAreLateOnlyInPipedream) {
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(staleness(gpipe_schedule(width(s, 4), Counts{5, 3})), (Counts{0, 0}));
    EXPECT_EQ(staleness(one_f_one_b_schedule(width(s, 4), Counts{5, 3})), (Counts{0, 0}));
    Counts expected;
    for (std::int64_t i = 0; i < 8; ++i)
      expected.push_back(std::min<std::int64_t>(i, 3 - static_cast<std::int64_t>(s)));
    EXPECT_EQ(staleness(pipedream_schedule(width(s, 4), Counts(8, 1))), expected);
    const auto steady = 2 * (3 - static_cast<std::int64_t>(s));
    EXPECT_EQ(staleness(pipedream_schedule(width(s, 4), Counts(20, 1), 1)).back(), steady);
  }
}

// Huang et al.: (S - 1) / (M + S - 1) of the time.
TEST(Bubbles, OfEqualStagesAreThoseOfThePaper) {
  for (const Schedule schedule : {&gpipe_schedule, &one_f_one_b_schedule}) {
    for (const std::size_t stages : {1, 2, 4, 7}) {
      for (const std::int64_t count : {1, 3, 8, 16}) {
        const std::vector<std::pair<Seconds, Seconds>> times(stages, {1, 2});
        const double ahead = static_cast<double>(stages) - 1;
        const auto all = workloads(schedule, std::vector<std::size_t>(stages, 1), Counts{count}, times);
        for (const double idle : idle_shares(all))
          EXPECT_NEAR(idle, ahead / (static_cast<double>(count) + ahead), 1e-12) << stages << " " << count;
      }
    }
  }
}

TEST(Bubbles, OfPipedreamVanish) {
  const std::vector<std::pair<Seconds, Seconds>> times(4, {1, 2});
  for (const double idle : idle_shares(workloads(&pipedream_schedule, {1, 1, 1, 1}, Counts(300, 1), times)))
    EXPECT_LT(idle, 0.011);
}

TEST(Bubbles, AreWhereTheFastStagesWait) {
  const std::vector<double> idle =
      idle_shares(workloads(&one_f_one_b_schedule, {1, 1, 1}, Counts{40}, {{1, 1}, {4, 4}, {1, 1}}));
  EXPECT_LT(idle[1], 0.02);
  EXPECT_GT(idle[0], 0.7);
  EXPECT_GT(idle[2], 0.7);
}

TEST(Bubbles, ReplicasOfASlowStageTakeThemAway) {
  const std::vector<double> idle =
      idle_shares(workloads(&one_f_one_b_schedule, {1, 4, 1}, Counts{80}, {{1, 1}, {4, 4}, {1, 1}}));
  for (const double share : idle) EXPECT_LT(share, 0.12);
}

// Whatever stages take, and however many devices they have, nobody waits for ever: all are done.
TEST(Bubbles, NoScheduleBlocks) {
  const std::vector<std::vector<std::size_t>> widths = {{1},    {1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1}, {3},
                                                        {2, 1}, {1, 2}, {3, 2},    {2, 3, 1},       {1, 4, 2}};
  for (const Schedule schedule : {&gpipe_schedule, &one_f_one_b_schedule, &pipedream_schedule}) {
    for (const auto& of_stages : widths) {
      const bool has_replicas = *std::max_element(of_stages.begin(), of_stages.end()) > 1;
      if (schedule == &pipedream_schedule && has_replicas) continue;
      std::vector<std::pair<Seconds, Seconds>> times;
      for (std::size_t s = 0; s < of_stages.size(); ++s) times.emplace_back(1.0 + static_cast<double>(s), 2);
      const Counts counts = schedule == &pipedream_schedule ? Counts(6, 1) : Counts{6, 5, 1};
      for (const std::int64_t ahead : {0, 1}) {
        const auto all = workloads(schedule, of_stages, counts, times, ahead);
        const auto idle = idle_shares(all);
        const auto passes = [](const StageWorkload& device) {
          return static_cast<double>(std::count_if(device.actions.begin(), device.actions.end(),
                                                   [](const Action& a) { return a.kind == Action::Kind::forward; }));
        };
        // the same end for all
        const auto end = [&](std::size_t d) {
          return passes(all[d]) * (all[d].forward + all[d].backward) / (1 - idle[d]);
        };
        for (std::size_t d = 0; d < all.size(); ++d) {
          if (passes(all[d]) == 0) continue;
          EXPECT_NEAR(end(d), end(0), 1e-9 * end(0)) << of_stages.size() << " " << d;
        }
      }
    }
  }
}

TEST(Deal, GivesEachMicroBatchToWhoIsDoneWithItFirst) {
  using Owners = std::vector<std::size_t>;
  EXPECT_EQ(deal(Counts{5, 2}, std::vector<double>{1}), (Owners{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(deal(Counts{4, 3}, std::vector<double>{1, 1}), (Owners{0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(deal(Counts{6}, std::vector<double>{2, 1}), (Owners{1, 0, 1, 1, 0, 1}));
}

TEST(Deal, ReplicasHoldTheMicroBatchesOfTheirStageBetweenThem) {
  const Counts counts = {8};
  const auto all = one_f_one_b_schedule({.devices = 2, .behind = 2}, counts);
  const auto owners = deal(counts, std::vector<double>{1, 1});
  EXPECT_EQ(schedule_text(actions_of(all, owners, 0)), "F0 F2 B0 F4 B2 F6 B4 B6 U");
  EXPECT_EQ(schedule_text(actions_of(all, owners, 1)), "F1 F3 B1 F5 B3 F7 B5 B7 U");
  EXPECT_EQ(most_in_flight(actions_of(all, owners, 1)), 2);
}

}  // namespace
}  // namespace mangrove::train
