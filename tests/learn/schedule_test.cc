#include "mangrove/learn/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace mangrove::learn {
namespace {

Schedule schedule_of(const ScheduleOptions& options) {
  return Schedule::create(options).value();
}

struct Rate {
  ScheduleOptions options;
  std::int64_t step, total;
  double expected;  // of a base of 1
};

TEST(Schedule, TakesTheStatedValues) {
  const double pi = std::numbers::pi;
  const Rate rates[] = {
      {{.name = "constant"}, 0, 0, 1},
      {{.name = "constant"}, 1000000, 10, 1},
      {{.name = "constant", .warmup_steps = 4}, 0, 100, 0.25},
      {{.name = "constant", .warmup_steps = 4}, 3, 100, 1},
      {{.name = "constant", .warmup_steps = 4}, 4, 100, 1},
      {{.name = "cosine"}, 0, 100, 1},
      {{.name = "cosine"}, 25, 100, (1 + std::cos(pi / 4)) / 2},
      {{.name = "cosine"}, 100, 100, 0},
      {{.name = "cosine"}, 1000, 100, 0},
      {{.name = "cosine", .warmup_steps = 10}, 0, 110, 0.1},
      {{.name = "cosine", .warmup_steps = 10}, 10, 110, 1},
      {{.name = "cosine", .warmup_steps = 10}, 60, 110, 0.5},
      {{.name = "cosine", .warmup_steps = 10}, 109, 110, (1 + std::cos(pi * 0.99)) / 2},
      {{.name = "cosine", .warmup_steps = 4}, 1, 2, 0.5},  // a warm-up longer than the training
      {{.name = "cosine", .warmup_steps = 4}, 4, 4, 0},
      {{.name = "step", .warmup_steps = 2, .step_epochs = 3, .gamma = 0.5}, 1, 10, 1},
      {{.name = "step", .warmup_steps = 2, .step_epochs = 3, .gamma = 0.5}, 3, 10, 0.5},
      {{.name = "one_cycle", .warmup_steps = 10}, 0, 20, 0.04},  // it has its own warm-up
      {{.name = "one_cycle"}, 0, 1, 1},
      {{.name = "one_cycle"}, 100, 20, 4e-6},
  };
  for (const auto& [options, step, total, expected] : rates) {
    const SchedulePosition position{.step = step, .total = total};
    EXPECT_NEAR(schedule_of(options).rate(1, position), expected, 1e-6) << options.name << " step " << step;
    EXPECT_NEAR(schedule_of(options).rate(0.2f, position), 0.2 * expected, 1e-7) << options.name << " step " << step;
  }
}

// The rates of torch.optim.lr_scheduler (PyTorch 1.13.1) before each of its steps, one epoch a step, lr=1:
// StepLR(o, 3, 0.5), MultiStepLR(o, [2, 5], 0.1), OneCycleLR(o, 1.0, total_steps=20), CosineAnnealingLR(o, 10).
struct Course {
  ScheduleOptions options;
  std::vector<double> rates;
};

/// Of 40 epochs of a step, in which the validation loss never falls.
std::vector<float> rates_without_progress(const ScheduleOptions& options) {
  Schedule schedule = schedule_of(options);
  std::vector<float> rates;
  for (std::int64_t step = 0; step < 40; ++step) {
    rates.push_back(schedule.rate(1, {.step = step, .total = 40}));
    schedule.observe(1);
  }
  return rates;
}

TEST(Schedule, ItsConstantsAreThoseThatChangeItsRates) {
  struct Constant {
    const char* name;
    void (*change)(ScheduleOptions& options);
  };
  constexpr Constant kConstants[] = {{"step_epochs", [](ScheduleOptions& options) { options.step_epochs = 7; }},
                                     {"milestones", [](ScheduleOptions& options) { options.milestones = {7}; }},
                                     {"gamma", [](ScheduleOptions& options) { options.gamma = 0.5; }},
                                     {"plateau_patience", [](ScheduleOptions& options) { options.patience = 7; }}};
  for (const ScheduleRow& row : schedules())
    for (const Constant& constant : kConstants) {
      const ScheduleOptions usual{.name = std::string(row.name), .milestones = {5}};
      ScheduleOptions changed = usual;
      constant.change(changed);
      const bool is_read = rates_without_progress(usual) != rates_without_progress(changed);
      EXPECT_EQ(std::ranges::count(schedules_with(constant.name), row.name), is_read ? 1 : 0)
          << row.name << " " << constant.name;
    }
}

TEST(Schedule, FollowsPyTorch) {
  const Course courses[] = {
      {{.name = "step", .step_epochs = 3, .gamma = 0.5}, {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125}},
      {{.name = "multi_step", .milestones = {2, 5}}, {1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01}},
      {{.name = "one_cycle"},
       {0.04,     0.1316718, 0.3716718, 0.6683282, 0.9083282, 1,         0.987464,  0.9504846,  0.8909162,  0.8117457,
        0.716943, 0.611262,  0.500002,  0.388742,  0.283061,  0.1882583, 0.1090878, 0.04951937, 0.01253999, 4e-06}},
      {{.name = "cosine"},
       {1, 0.9755283, 0.9045085, 0.7938926, 0.6545085, 0.5, 0.3454915, 0.2061074, 0.0954915, 0.02447174}},
  };
  for (const auto& [options, rates] : courses) {
    const Schedule schedule = schedule_of(options);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const SchedulePosition position{.step = static_cast<std::int64_t>(i),
                                      .total = static_cast<std::int64_t>(rates.size())};
      EXPECT_NEAR(schedule.rate(1, position), rates[i], 2e-7) << options.name << " step " << i;
    }
  }
}

TEST(Schedule, EpochsAreCountedInSteps) {
  const Schedule schedule = schedule_of({.name = "multi_step", .milestones = {2}});
  EXPECT_EQ(schedule.rate(1, {.step = 19, .total = 40, .steps_per_epoch = 10}), 1);
  EXPECT_FLOAT_EQ(schedule.rate(1, {.step = 20, .total = 40, .steps_per_epoch = 10}), 0.1f);
}

TEST(ReduceOnPlateau, FollowsPyTorch) {
  // ReduceLROnPlateau(o, factor=0.5, patience=2) after each of these losses, PyTorch 1.13.1
  const double losses[] = {1, 0.9, 0.91, 0.92, 0.95, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.79995, 0.5};
  const double rates[] = {1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125};
  Schedule schedule = schedule_of({.name = "reduce_on_plateau", .gamma = 0.5, .patience = 2});
  for (std::size_t i = 0; i < std::size(losses); ++i) {
    schedule.observe(losses[i]);
    EXPECT_EQ(schedule.rate(1, {.step = 100}), rates[i]) << i;
    Schedule copy = schedule_of({.name = "reduce_on_plateau", .gamma = 0.5, .patience = 2});
    copy.set_plateau(schedule.plateau());
    schedule = copy;  // all that matters is in the plateau
  }
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  const struct {
    ScheduleOptions options;
    const char* mentioned;
  } bads[] = {
      {{.name = "cosin"}, "did you mean 'cosine'"},
      {{.warmup_steps = -1}, "warmup_steps"},
      {{.step_epochs = 0}, "step_epochs"},
      {{.gamma = 0}, "gamma"},
      {{.gamma = 1.5}, "gamma"},
      {{.patience = -1}, "plateau_patience"},
      {{.name = "multi_step"}, "needs some"},
      {{.name = "multi_step", .milestones = {5, 5}}, "rise"},
      {{.name = "multi_step", .milestones = {0}}, "rise"},
  };
  for (const auto& [options, mentioned] : bads) {
    const auto schedule = Schedule::create(options);
    ASSERT_FALSE(schedule.ok()) << mentioned;
    EXPECT_NE(schedule.error().message.find(mentioned), std::string::npos) << schedule.error().message;
  }
}

}  // namespace
}  // namespace mangrove::learn
