#include "mangrove/serve/model_leases.h"

#include "mangrove/base/clock.h"

namespace mangrove::serve {

std::shared_ptr<Model> ModelLeases::lease(std::shared_ptr<Model> model) {
  {
    const MutexLock lock(mutex_);
    ++count_;
  }
  Model* const leased = model.get();
  return {leased, [held = std::move(model), leases = shared_from_this()](Model*) { leases->end(); }};
}

void ModelLeases::end() {
  const MutexLock lock(mutex_);
  --count_;
  ended_.notify_all();
}

bool ModelLeases::wait_for_none(Seconds at_most) {
  const SteadyClock clock;
  const Deadline deadline = clock.after(at_most);
  const MutexLock lock(mutex_);
  while (count_ > 0 && clock.now() < deadline) ended_.wait_for(mutex_, deadline - clock.now());
  return count_ == 0;
}

}  // namespace mangrove::serve
