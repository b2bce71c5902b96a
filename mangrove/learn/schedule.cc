#include "mangrove/learn/schedule.h"

#include "mangrove/base/check.h"
#include "mangrove/base/check_setting.h"
#include "mangrove/base/table.h"
#include "mangrove/learn/names_with.h"
#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn {
namespace {

constexpr ScheduleRow kSchedules[] = {
    {"constant", "the same rate throughout", "", false, false, false, &rules::constant},
    {"step", "times gamma every step_epochs epochs", "gamma,step_epochs", false, false, false, &rules::step},
    {"multi_step", "times gamma at each epoch of milestones (He et al. 2016)", "gamma,milestones", false, false, false,
     &rules::multi_step},
    {"cosine", "half a cosine down to 0 (Loshchilov & Hutter 2017)", "", false, false, true, &rules::cosine},
    {"one_cycle", "up from 1/25 over 30 % of the steps, then down to 1/250,000 (Smith & Topin 2018)", "", false, true,
     true, &rules::one_cycle},
    {"reduce_on_plateau", "times gamma when the validation loss has not fallen for more than plateau_patience epochs",
     "gamma,plateau_patience", true, false, false, &rules::reduce_on_plateau},
};

}  // namespace

std::span<const ScheduleRow> schedules() {
  return kSchedules;
}

Result<const ScheduleRow*> find_schedule(const std::string& name) {
  return find_row(kSchedules, name, "unknown schedule");
}

std::vector<std::string> schedules_with(std::string_view constant) {
  return names_with(kSchedules, constant);
}

Status check_options(const ScheduleOptions& options) {
  MG_RETURN_IF_ERROR(find_schedule(options.name));
  MG_RETURN_IF_ERROR(check_setting("warmup_steps", options.warmup_steps, options.warmup_steps >= 0, "0 or more"));
  MG_RETURN_IF_ERROR(check_setting("step_epochs", options.step_epochs, options.step_epochs >= 1, "at least 1"));
  MG_RETURN_IF_ERROR(
      check_setting("gamma", options.gamma, options.gamma > 0 && options.gamma <= 1, "above 0, at most 1"));
  MG_RETURN_IF_ERROR(check_setting("plateau_patience", options.patience, options.patience >= 0, "0 or more"));
  for (std::size_t i = 0; i < options.milestones.size(); ++i) {
    const std::int64_t before = i > 0 ? options.milestones[i - 1] : 0;
    MG_RETURN_IF_ERROR(
        check_setting("milestones", options.milestones[i], options.milestones[i] > before, "epochs above 0 that rise"));
  }
  if (options.name == "multi_step" && options.milestones.empty())
    return make_error(Code::invalid_argument, "milestones: schedule 'multi_step' needs some, e.g. 82,123");
  return {};
}

Result<Schedule> Schedule::create(const ScheduleOptions& options) {
  MG_RETURN_IF_ERROR(check_options(options));
  MG_TRY(const ScheduleRow* row, find_schedule(options.name));
  return Schedule(options, *row);
}

float Schedule::rate(float base, const SchedulePosition& position) const {
  MG_CHECK(position.steps_per_epoch >= 1 && (position.total >= 1 || !row_->needs_total));
  if (position.step < options_.warmup_steps && !row_->warms_up)
    return base * static_cast<float>(position.step + 1) / static_cast<float>(options_.warmup_steps);
  return static_cast<float>(base * row_->factor(position, options_, plateau_));
}

void Schedule::observe(double validation_loss) {
  plateau_ = rules::after_validation(plateau_, validation_loss, options_);
}

}  // namespace mangrove::learn
