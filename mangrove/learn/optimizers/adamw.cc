#include "mangrove/learn/optimizers/rules.h"

namespace mangrove::learn::rules {

// source: Loshchilov & Hutter, Decoupled weight decay regularization, ICLR 2019
void adamw(const Update& update, const OptimizerOptions& options) {
  const float keep = 1 - update.learning_rate * update.weight_decay;
  for (float& w : update.weight) w *= keep;
  adam_step(update, options, 0);
}

}  // namespace mangrove::learn::rules
