#include "mangrove/cluster/job_queue.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "mangrove/base/log.h"
#include "mangrove/cluster/network_signature.h"

namespace mangrove::cluster {
namespace {

constexpr std::size_t kMostJobs = 100, kMostJobsOfOne = 32;  // that wait or run

}  // namespace

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
  const Result<std::vector<JobStore::Interrupted>> interrupted = store_->interrupted();
  if (!interrupted.ok()) return log_error("jobs not gone on with", {{"message", interrupted.error().message}});
  for (const JobStore::Interrupted& from : *interrupted) {
    if (const Status taken = check_(from.job); !taken.ok()) {
      const Status ended = store_->end(from.id, taken, {});
      log_error(
          "job not gone on with",
          {{"job", from.id}, {"message", taken.error().message}, {"kept", ended.ok() ? "yes" : ended.error().message}});
      continue;
    }
    log_info("job goes on", {{"job", from.id}, {"starts", from.starts}, {"nodes_before", from.nodes}});
    launch(std::make_shared<Job>(from.id, from.job, from.owner, surroundings_, store_, from));
  }
}

Status JobQueue::take_turn(const std::string& owner) {
  return owner.empty() ? Status() : begins_.take(owner, clock_.now());
}

Result<std::shared_ptr<Job>> JobQueue::begin(JobSpec job, const std::string& owner, const void* follower,
                                             Reporter reporter) {
  MG_RETURN_IF_ERROR(check_(job));
  if (credentials_ != nullptr) MG_RETURN_IF_ERROR(check_networks_of(owner, job, credentials_->current().authorities()));
  std::string id;
  {
    MutexLock lock(mutex_);
    MG_RETURN_IF_ERROR(check_room(owner));
    id = prefix_ + "-" + std::to_string(++jobs_);
  }
  JobStore* const store = job.infer().frames() ? nullptr : store_;  // without its client it has nothing to do
  // not under the lock: a long network takes its time, and the messages of nodes wait for the lock
  if (store != nullptr) MG_RETURN_IF_ERROR(store->begin(id, job, owner));
  MutexLock lock(mutex_);
  const Status room = check_room(owner);
  if (!room.ok() && store != nullptr) std::ignore = store->end(id, room, {});
  MG_RETURN_IF_ERROR(room);
  const auto live = std::make_shared<Job>(id, std::move(job), owner, surroundings_, store);
  live->follow(follower, std::move(reporter));
  launch(live);
  return live;
}

/// Each job holds a thread, its networks and its last checkpoint.
Status JobQueue::check_room(const std::string& owner) const {
  if (!open_) return make_error(Code::unavailable, "the coordinator is starting or shutting down");
  std::size_t all = 0, own = 0;
  for (const Slot& slot : slots_) {
    if (slot.is_over) continue;
    ++all;
    if (!owner.empty() && slot.job->owner() == owner) ++own;
  }
  if (own >= kMostJobsOfOne)
    return make_error(Code::resource_exhausted, std::to_string(own) +
                                                    " jobs of this client wait or run, and more are not taken; try " +
                                                    "again when one has ended");
  if (all >= kMostJobs)
    return make_error(Code::resource_exhausted, std::to_string(all) +
                                                    " jobs wait or run, and more are not taken; try again when one "
                                                    "has ended");
  return {};
}

void JobQueue::launch(std::shared_ptr<Job> job) {
  slots_.remove_if([](const Slot& slot) { return slot.is_over; });  // their threads need the lock no more
  Slot& slot = slots_.emplace_back(Slot{.job = std::move(job)});
  slot.runner = std::jthread([this, &slot] { run(slot); });
}

void JobQueue::run(Slot& slot) {
  std::shared_ptr<Job> job;
  {
    MutexLock lock(mutex_);
    job = slot.job;
  }
  job->run();
  {
    // its place is free before clients hear of the end: they may send the next one at once
    MutexLock lock(mutex_);
    slot.job.reset();
    slot.is_over = true;
    changed_.notify_all();
  }
  job->end();
}

std::shared_ptr<Job> JobQueue::find(const std::string& id) const {
  for (std::shared_ptr<Job>& job : all())
    if (job->id() == id) return std::move(job);
  return nullptr;
}

std::shared_ptr<Job> JobQueue::find_run(const std::string& run_id) const {
  for (std::shared_ptr<Job>& job : all())
    if (job->current_run()->id() == run_id) return std::move(job);
  return nullptr;
}

std::vector<std::shared_ptr<Job>> JobQueue::all() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Job>> found;
  for (const Slot& slot : slots_)
    if (!slot.is_over) found.push_back(slot.job);
  return found;
}

void JobQueue::each_run(const std::function<void(JobAttempt&)>& call) const {
  for (const std::shared_ptr<Job>& job : all()) call(*job->current_run());
}

Result<std::vector<JobStatus>> JobQueue::list(const std::function<bool(const std::string&)>& may_read) const {
  std::vector<JobStatus> kept;
  if (store_ != nullptr) {
    MG_TRY(kept, store_->list(may_read));
  }
  std::vector<JobStatus> listed;
  const std::vector<std::shared_ptr<Job>> live = all();
  for (auto job = live.rbegin(); job != live.rend(); ++job) {
    const std::shared_ptr<JobAttempt> run = (*job)->current_run();
    const auto found = std::ranges::find(kept, (*job)->id(), [](const JobStatus& status) { return status.id(); });
    if (found != kept.end() && found->state() != "running") continue;  // it has ended meanwhile
    JobStatus& status = found != kept.end() ? *found : listed.emplace_back();
    if (found == kept.end()) {
      status.set_id((*job)->id());
      status.set_title(title_of(run->job()));
      status.set_starts(1);
      status.set_owner((*job)->owner());
    }
    status.set_state(run->is_waiting() ? "waiting" : "running");
    status.set_priority(run->job().priority());
  }
  listed.insert(listed.end(), std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  return listed;
}

bool JobQueue::are_all_over() const {
  return std::ranges::all_of(slots_, &Slot::is_over);
}

void JobQueue::shutdown(Deadline deadline) {
  {
    MutexLock lock(mutex_);
    open_ = false;
  }
  for (const std::shared_ptr<Job>& job : all()) job->suspend();
  MutexLock lock(mutex_);
  while (!are_all_over() && clock_.now() < deadline) changed_.wait_for(mutex_, deadline - clock_.now());
}

}  // namespace mangrove::cluster
