#include "mangrove/learn/best_model.h"

namespace mangrove::learn {

bool BestModel::observe(std::int64_t after_epoch, double validation_accuracy, double validation_loss) {
  const bool better =
      epoch == 0 || validation_accuracy > accuracy || (validation_accuracy == accuracy && validation_loss < loss);
  if (better) *this = {after_epoch, validation_accuracy, validation_loss};
  return better;
}

}  // namespace mangrove::learn
