#include "mangrove/serve/exit_run.h"

namespace mangrove::serve {

/// A NaN leaves at no exit but the last.
bool SteppedRun::leaves(float entropy) const {
  if (exit_ + 1 == network_->exits().size()) return true;
  return thresholds_ && entropy <= (*thresholds_)[exit_];
}

Result<ExitAnswer> SteppedRun::next() {
  Result<SteppedNetwork::Step> step = network_->compute(exit_, values_);
  if (!step.ok()) {
    when_over_(times_, false);
    return step.error();
  }
  times_.queue += step->waited;
  times_.compute.infer += step->computed;
  ExitAnswer answer{
      .exit = exit_ + 1,
      .is_last = leaves(step->entropy),
      .entropy = step->entropy,
      .response = {.version = version_, .outputs = {}, .queued = times_.queue, .computed = times_.compute.infer}};
  const auto classes = static_cast<std::int64_t>(step->logits.size());
  answer.response.outputs.push_back({network_->exits()[exit_], Tensor::of<float>({1, classes}, step->logits)});
  ++exit_;
  if (answer.is_last) when_over_(times_, true);
  return answer;
}

}  // namespace mangrove::serve
