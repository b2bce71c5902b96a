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

#if defined(__x86_64__)
template <class Loop>
__attribute__((target("avx2"))) void run_avx2(const Loop& loop) {
  loop();
}
#endif

/// Runs a loop over floats in the widest vectors that this machine has and that give the same bits as the others (so
/// without fused multiply-add). `loop` must be inlined: [=]() __attribute__((always_inline)) { ... }.
template <class Loop>
void in_wide_vectors(const Loop& loop) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return run_avx2(loop);
#endif
  loop();
}

/// The step of adam and adamw, once weight decay is dealt with: `decay` * w is added to the gradient.
void adam_step(const Update& update, const OptimizerOptions& options, float decay);

}  // namespace mangrove::learn::rules
