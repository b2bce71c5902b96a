#include "mangrove/train/hyperparameters.h"

#include <string>

namespace mangrove::train {
namespace {

learn::OptimizerOptions optimizer_of(const TrainJob& job) {
  learn::OptimizerOptions options;
  if (job.has_optimizer()) options.name = job.optimizer();
  options.momentum = job.momentum();
  if (job.has_beta1()) options.beta1 = job.beta1();
  if (job.has_beta2()) options.beta2 = job.beta2();
  if (job.has_alpha()) options.alpha = job.alpha();
  if (job.has_epsilon()) options.epsilon = job.epsilon();
  if (job.has_trust()) options.trust = job.trust();
  options.weight_decay = job.weight_decay();
  if (job.has_clip_norm()) options.clip_norm = job.clip_norm();
  if (job.has_clip_value()) options.clip_value = job.clip_value();
  return options;
}

learn::ScheduleOptions schedule_of(const TrainJob& job) {
  learn::ScheduleOptions options;
  options.name = job.schedule();
  options.warmup_steps = job.warmup_steps();
  if (job.has_step_epochs()) options.step_epochs = job.step_epochs();
  options.milestones = {job.milestones().begin(), job.milestones().end()};
  if (job.has_gamma()) options.gamma = job.gamma();
  if (job.has_plateau_patience()) options.patience = job.plateau_patience();
  return options;
}

learn::LossOptions loss_of(const TrainJob& job) {
  learn::LossOptions options;
  if (job.has_loss()) options.name = job.loss();
  if (job.has_label_smoothing()) options.label_smoothing = job.label_smoothing();
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
  if (!(recipe.ema_decay >= 0 && recipe.ema_decay < 1)) {
    return make_error(Code::invalid_argument,
                      "ema_decay: must be from 0 to below 1, got " + std::to_string(recipe.ema_decay));
  }
  if (recipe.patience < 0)
    return make_error(Code::invalid_argument, "patience: must be 0 or more, got " + std::to_string(recipe.patience));
  return recipe;
}

}  // namespace mangrove::train
