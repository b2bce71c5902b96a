#include "mangrove/train/hyperparameters.h"

#include <string>

namespace mangrove::train {
namespace {

learn::OptimizerOptions optimizer_of(const TrainJob& job) {
  learn::OptimizerOptions options;
  if (!job.optimizer().empty()) options.name = job.optimizer();
  options.momentum = job.momentum();
  options.beta1 = job.beta1();
  options.beta2 = job.beta2();
  options.alpha = job.alpha();
  options.epsilon = job.epsilon();
  options.trust = job.trust();
  options.weight_decay = job.weight_decay();
  options.clip_norm = job.clip_norm();
  options.clip_value = job.clip_value();
  return options;
}

learn::ScheduleOptions schedule_of(const TrainJob& job) {
  learn::ScheduleOptions options;
  options.name = job.schedule();
  options.warmup_steps = job.warmup_steps();
  options.step_epochs = job.step_epochs();
  options.milestones = {job.milestones().begin(), job.milestones().end()};
  options.gamma = job.gamma();
  options.patience = job.plateau_patience();
  return options;
}

learn::LossOptions loss_of(const TrainJob& job) {
  learn::LossOptions options;
  options.name = job.loss();
  options.label_smoothing = job.label_smoothing();
  options.exit_weights = {job.exit_weights().begin(), job.exit_weights().end()};
  return options;
}

}  // namespace

Result<Hyperparameters> hyperparameters_of(const TrainJob& job) {
  const Hyperparameters recipe{optimizer_of(job), schedule_of(job), loss_of(job), job.ema_decay(), job.patience()};
  MG_RETURN_IF_ERROR(learn::check_options(recipe.optimizer).context("optimizer"));
  MG_RETURN_IF_ERROR(learn::check_options(recipe.schedule).context("schedule"));
  MG_RETURN_IF_ERROR(learn::check_options(recipe.loss).context("loss"));
  MG_TRY(const learn::LossRow* loss, learn::find_loss(recipe.loss.name));
  if (loss->needs_dense) {
    return make_error(Code::invalid_argument,
                      "loss: '" + recipe.loss.name + "' needs more than the labels of a data set: a teacher");
  }
  return recipe;
}

}  // namespace mangrove::train
