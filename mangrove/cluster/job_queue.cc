#include "mangrove/cluster/job_queue.h"

#include "mangrove/base/log.h"
#include "mangrove/cluster/network_signature.h"

namespace mangrove::cluster {

JobQueue::JobQueue(JobEnvironment surroundings, std::string prefix, JobStore* store)
    : prefix_(std::move(prefix)),
      store_(store),
      check_(surroundings.check),
      clock_(surroundings.clock),
      credentials_(surroundings.credentials),
      surroundings_(std::move(surroundings)) {}

void JobQueue::open(std::string own_address) {
  MutexLock lock(mutex_);
  surroundings_.own_address = std::move(own_address);
  open_ = true;
  if (store_ == nullptr) return;
  Result<std::optional<JobStore::Interrupted>> interrupted = store_->interrupted();
  if (!interrupted.ok()) return log_error("job not gone on with", {{"message", interrupted.error().message}});
  if (!*interrupted) return;
  const JobStore::Interrupted& from = **interrupted;
  if (const Status taken = check_(from.job); !taken.ok()) {
    const Status ended = store_->end(from.id, taken, {});
    return log_error(
        "job not gone on with",
        {{"job", from.id}, {"message", taken.error().message}, {"kept", ended.ok() ? "yes" : ended.error().message}});
  }
  log_info("job goes on", {{"job", from.id}, {"starts", from.starts}, {"nodes_before", from.nodes}});
  launch(std::make_shared<Job>(from.id, from.job, from.owner, surroundings_, store_, from));
}

Status JobQueue::take_turn(const std::string& owner) {
  return owner.empty() ? Status() : begins_.take(owner, clock_.now());
}

Result<std::shared_ptr<Job>> JobQueue::begin(JobSpec job, const std::string& owner, const void* follower,
                                             Reporter reporter) {
  MG_RETURN_IF_ERROR(check_(job));
  if (credentials_ != nullptr) MG_RETURN_IF_ERROR(check_networks_of(owner, job, credentials_->current().authorities()));
  MutexLock lock(mutex_);
  if (!open_) return make_error(Code::unavailable, "the coordinator is starting or shutting down");
  if (current_ != nullptr)
    return make_error(Code::failed_precondition,
                      "busy with another job (" + current_->id() + "); try again when it has ended");
  const std::string id = prefix_ + "-" + std::to_string(++jobs_);
  JobStore* const store = job.infer().frames() ? nullptr : store_;  // without its client it has nothing to do
  if (store != nullptr) MG_RETURN_IF_ERROR(store->begin(id, job, owner));
  const auto live = std::make_shared<Job>(id, std::move(job), owner, surroundings_, store);
  live->follow(follower, std::move(reporter));
  launch(live);
  return live;
}

/// REQUIRES: the last job has left the slot; its thread does not need the lock any more.
void JobQueue::launch(std::shared_ptr<Job> job) {
  current_ = std::move(job);
  runner_ = std::jthread([this, live = current_] {
    live->run();
    {
      // free before clients hear of the end: they may send the next one at once
      MutexLock lock(mutex_);
      current_.reset();
      changed_.notify_all();
    }
    live->end();
  });
}

std::shared_ptr<Job> JobQueue::find(const std::string& id) const {
  MutexLock lock(mutex_);
  return current_ != nullptr && current_->id() == id ? current_ : nullptr;
}

std::shared_ptr<Job> JobQueue::running() const {
  MutexLock lock(mutex_);
  return current_;
}

std::shared_ptr<JobAttempt> JobQueue::current() const {
  const std::shared_ptr<Job> job = running();
  return job == nullptr ? nullptr : job->current_run();
}

void JobQueue::shutdown(Deadline deadline) {
  std::shared_ptr<Job> running;
  {
    MutexLock lock(mutex_);
    open_ = false;
    running = current_;
  }
  if (running == nullptr) return;
  running->suspend();
  MutexLock lock(mutex_);
  while (current_ != nullptr && clock_.now() < deadline) changed_.wait_for(mutex_, deadline - clock_.now());
}

}  // namespace mangrove::cluster
