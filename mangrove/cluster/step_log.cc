#include "mangrove/cluster/step_log.h"

namespace mangrove::cluster {
namespace {

void fill(StepSeconds& message, std::int64_t step, const job::StepTimes& times, Instant now) {
  message.set_step(step);
  message.set_age(now - times.ended);
  message.set_load(times.load);
  message.set_compute(times.compute);
  message.set_encode(times.encode);
  message.set_wire(times.wire);
  message.set_wait(times.wait);
}

}  // namespace

void StepLog::add(const job::StepTimes& step) {
  MutexLock lock(mutex_);
  ++count_;
  total_.ended = step.ended;
  total_.load += step.load;
  total_.compute += step.compute;
  total_.encode += step.encode;
  total_.wire += step.wire;
  total_.wait += step.wait;
  recent_.push_back(step);
  if (recent_.size() > kRecent) recent_.pop_front();
}

StepUse StepLog::use(Instant now) const {
  MutexLock lock(mutex_);
  StepUse use;
  use.set_count(count_);
  fill(*use.mutable_total(), count_, total_, now);
  std::int64_t step = count_ - static_cast<std::int64_t>(recent_.size());
  for (const job::StepTimes& times : recent_) fill(*use.add_recent(), ++step, times, now);
  return use;
}

}  // namespace mangrove::cluster
