#include "mangrove/cluster/job_slot.h"

namespace mangrove::cluster {

JobSlot::JobSlot(JobSurroundings surroundings, std::string prefix)
    : prefix_(std::move(prefix)), surroundings_(std::move(surroundings)) {}

void JobSlot::open(std::string own_address) {
  MutexLock lock(mutex_);
  surroundings_.own_address = std::move(own_address);
  open_ = true;
}

Result<std::shared_ptr<JobRun>> JobSlot::begin(Job job, Reporter report) {
  MutexLock lock(mutex_);
  if (!open_) return make_error(Code::unavailable, "the coordinator is starting or shutting down");
  if (current_ != nullptr)
    return make_error(Code::failed_precondition, "busy with another job; try again when it has ended");
  const std::string id = prefix_ + "-" + std::to_string(++jobs_);
  current_ = std::make_shared<JobRun>(id, std::move(job), surroundings_, std::move(report));
  return current_;
}

void JobSlot::ended() {
  MutexLock lock(mutex_);
  current_.reset();
  changed_.notify_all();
}

std::shared_ptr<JobRun> JobSlot::current() const {
  MutexLock lock(mutex_);
  return current_;
}

void JobSlot::shutdown(Deadline deadline) {
  std::shared_ptr<JobRun> running;
  {
    MutexLock lock(mutex_);
    open_ = false;
    running = current_;
  }
  if (running == nullptr) return;
  running->request_stop();
  MutexLock lock(mutex_);
  const Clock& clock = surroundings_.clock;
  while (current_ != nullptr && clock.now() < deadline) changed_.wait_for(mutex_, deadline - clock.now());
}

}  // namespace mangrove::cluster
