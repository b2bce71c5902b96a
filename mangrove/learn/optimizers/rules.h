#pragma once

#include "mangrove/learn/optimizer.h"

/// The update of each optimiser, one file each.
namespace mangrove::learn::rules {

void sgd(const Update& update, const OptimizerOptions& options);
void momentum(const Update& update, const OptimizerOptions& options);
void nesterov(const Update& update, const OptimizerOptions& options);
void adam(const Update& update, const OptimizerOptions& options);
void adamw(const Update& update, const OptimizerOptions& options);
void rmsprop(const Update& update, const OptimizerOptions& options);
void lars(const Update& update, const OptimizerOptions& options);

/// The step of adam and adamw, once weight decay is dealt with: `decay` * w is added to the gradient.
void adam_step(const Update& update, const OptimizerOptions& options, float decay);

}  // namespace mangrove::learn::rules
