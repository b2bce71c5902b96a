#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::learn {

/// Which schedule the learning rate follows, and its constants; each schedule reads those that its row's `constants`
/// names.
struct ScheduleOptions {
  std::string name = "constant";
  std::int64_t warmup_steps = 0;  // of any but one_cycle, which has its own
  std::int64_t step_epochs = 30;
  std::vector<std::int64_t> milestones = {};  // epochs, rising
  double gamma = 0.1;                         // factor of a drop
  std::int64_t patience = 10;                 // epochs; its key is plateau_patience
};

/// Where training is.
struct SchedulePosition {
  std::int64_t step = 0;             // steps done before this one
  std::int64_t total = 0;            // steps of the whole training; 0: not known
  std::int64_t steps_per_epoch = 1;  // >= 1
};

/// What a schedule remembers of the validations so far (reduce_on_plateau).
struct Plateau {
  double factor = 1;  // that the rate has come down to
  double best = 0;    // validation loss
  std::int64_t epochs = 0, bad_epochs = 0;
};

/// One schedule: one file of learn/schedules/, one row of the table in schedule.cc.
struct ScheduleRow {
  std::string_view name;
  std::string_view summary;    // formula and source, one line
  std::string_view constants;  // keys of ScheduleOptions that not all read, with commas between
  bool needs_validation;       // it goes by Plateau
  bool warms_up;               // by itself: warmup_steps is not looked at
  bool needs_total;            // it goes by the number of steps that training will have
  /// The learning rate relative to the job's, of a step after the warm-up.
  double (*factor)(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);
};
std::span<const ScheduleRow> schedules();
/// errors: not_found, with the nearest known name.
Result<const ScheduleRow*> find_schedule(const std::string& name);
/// The names of those that read the constant with this key: "step_epochs", "milestones", "gamma", "plateau_patience".
std::vector<std::string> schedules_with(std::string_view constant);
/// errors: not_found (name); invalid_argument (a constant out of its range: names it).
Status check_options(const ScheduleOptions& options);

/// The learning rate over a training.
class Schedule {
 public:
  /// errors: those of check_options.
  static Result<Schedule> create(const ScheduleOptions& options);

  /// Learning rate of the step at this position, `base` being the job's: over the first warmup_steps a straight line
  /// from base / warmup_steps up to base (source: Goyal et al., Accurate, large minibatch SGD, 2017), then the
  /// schedule's.
  float rate(float base, const SchedulePosition& position) const;
  /// The validation loss after an epoch.
  void observe(double validation_loss);
  const ScheduleRow& row() const { return *row_; }

  const Plateau& plateau() const { return plateau_; }
  void set_plateau(const Plateau& plateau) { plateau_ = plateau; }

 private:
  Schedule(ScheduleOptions options, const ScheduleRow& row) : options_(std::move(options)), row_(&row) {}
  ScheduleOptions options_;
  const ScheduleRow* row_;
  Plateau plateau_;
};

}  // namespace mangrove::learn
