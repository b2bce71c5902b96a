#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn::rules {

double reduce_on_plateau(const SchedulePosition&, const ScheduleOptions&, const Plateau& plateau) {
  return plateau.factor;
}

// As PyTorch's ReduceLROnPlateau: better is lower by a ten-thousandth.
Plateau after_validation(Plateau plateau, double loss, const ScheduleOptions& options) {
  const bool better = plateau.epochs == 0 || loss < plateau.best * (1 - 1e-4);
  plateau.epochs += 1;
  plateau.bad_epochs = better ? 0 : plateau.bad_epochs + 1;
  if (better) plateau.best = loss;
  if (plateau.bad_epochs > options.patience) {
    plateau.factor *= options.gamma;
    plateau.bad_epochs = 0;
  }
  return plateau;
}

}  // namespace mangrove::learn::rules
