#include "mangrove/cluster/job.h"

#include "mangrove/base/log.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/model_signature.h"
#include "mangrove/cluster/node_event.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cluster {
namespace {

struct EpochNumber {
  std::int64_t number = 0;
  static void fields(auto& self, auto& field) { field("epoch", self.number); }
};

/// The number of the epoch that a report is of; 0: it is of none.
std::int64_t epoch_of(const Report& report) {
  if (report.kind != ReportKind::epoch) return 0;
  const auto epoch = job::parse_json<EpochNumber>(report.json);
  return epoch.ok() ? epoch->number : 0;
}

/// Of a run: nodes may still hold messages of the one before.
std::string run_id(const std::string& id, const std::optional<JobStore::Interrupted>& from) {
  return from ? id + "." + std::to_string(from->starts) : id;
}

}  // namespace

Job::Job(std::string id, JobSpec job, std::string owner, const JobEnvironment& surroundings, JobStore* store,
         const std::optional<JobStore::Interrupted>& from)
    : id_(std::move(id)), owner_(std::move(owner)), store_(store), surroundings_(surroundings) {
  if (from)
    for (const Report& epoch : from->epochs) remember(epoch, epoch_of(epoch));
  run_ = make_run(std::move(job), from);
}

std::shared_ptr<JobAttempt> Job::make_run(JobSpec job, const std::optional<JobStore::Interrupted>& from) {
  JobAttempt::Listener listener;
  listener.report = [this](Report report) { on_report(std::move(report)); };
  listener.members = [this](const net::Members& members) {
    if (store_ != nullptr) keep(store_->set_members(id_, members), "members");
  };
  std::optional<std::size_t> nodes_before;
  if (from) nodes_before = from->nodes;
  return std::make_shared<JobAttempt>(run_id(id_, from), std::move(job), surroundings_, std::move(listener),
                                      nodes_before);
}

std::shared_ptr<JobAttempt> Job::current_run() const {
  MutexLock lock(mutex_);
  return run_;
}

void Job::run() {
  Status status = current_run()->run();
  while (begins_again(status)) status = current_run()->run();
  bool suspended = false;
  {
    MutexLock lock(mutex_);
    // a job that ended by itself meanwhile has nothing to go on with
    suspended = suspended_ && is_kept() && !status.ok() && status.code() == Code::cancelled;
    end_ = {.status = status, .suspended = suspended};
  }
  if (!suspended) keep_end(status);
}

/// As after a restart of the coordinator; the nodes may have gone before it in the same power cut.
bool Job::begins_again(const Status& ended) {
  if (!is_kept() || ended.ok() || !current_run()->has_lost_everyone()) return false;
  Result<std::optional<JobStore::Interrupted>> from = store_->again(id_);
  keep(from.ok() ? Status() : Status(from.error()), "restart");
  if (!from.ok() || !*from) return false;
  {
    MutexLock lock(mutex_);
    if (stopped_ || suspended_) return false;
    run_ = make_run((*from)->job, *from);
  }
  on_report(job::event_report(WaitingForNodes()));
  return true;
}

void Job::request_stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  current_run()->request_stop();
}

void Job::keep_end(const Status& status) {
  if (store_ == nullptr) return;
  std::optional<Report> result;  // a copy: the disk may be slow, and others ask for the job's state
  {
    MutexLock lock(mutex_);
    result = result_;
  }
  keep(store_->end(id_, status, result), "end");
}

void Job::suspend() {
  if (store_ != nullptr) keep(store_->suspend(id_), "suspension");
  {
    MutexLock lock(mutex_);
    suspended_ = true;
  }
  current_run()->request_stop();
}

void Job::end() {
  MutexLock lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void Job::follow(const void* follower, Reporter reporter, bool from_beginning) {
  MutexLock lock(mutex_);
  if (from_beginning)
    for (const Told& told : told_) reporter(told.report);
  if (result_) reporter(*result_);
  followers_[follower] = std::move(reporter);
}

void Job::unfollow(const void* follower) {
  MutexLock lock(mutex_);
  followers_.erase(follower);
}

std::optional<Job::End> Job::wait_end(Seconds limit) {
  MutexLock lock(mutex_);
  const Clock& clock = surroundings_.clock;
  const Deadline deadline = clock.after(limit);
  while (!over_ && clock.now() < deadline) changed_.wait_for(mutex_, deadline - clock.now());
  return over_ ? std::optional(end_) : std::nullopt;
}

/// The signature of a network. Nothing: there is none, or no identity. A failure is only logged: the network is what
/// was asked for.
std::optional<std::string> Job::signature_of(const std::string& network) const {
  if (surroundings_.credentials == nullptr || network.empty()) return std::nullopt;
  Result<std::string> signature = sign_model(surroundings_.credentials->current(), network, id_, owner_);
  if (signature.ok()) return *std::move(signature);
  log_warn("model not signed", {{"job", id_}, {"message", signature.error().message}});
  return std::nullopt;
}

/// Adds to a result what the coordinator knows: the curve of a training, and whose the network is.
void Job::complete(Report& result) const {
  JobCurve curve;
  {
    MutexLock lock(mutex_);
    for (const Told& told : told_)
      if (told.report.kind == ReportKind::epoch)
        curve.epochs.push_back(job::Json::parse(told.report.json, nullptr, /*allow_exceptions=*/false));
  }
  job::Json json = job::Json::parse(result.json, nullptr, /*allow_exceptions=*/false);
  if (!curve.epochs.empty()) job::add_fields(curve, json);
  job::add_fields(ModelFacts{.signature = signature_of(result.attachment)}, json);
  result.json = dump(json);
}

void Job::on_report(Report report) {
  if (report.kind == ReportKind::result) complete(report);
  if (report.kind == ReportKind::checkpoint && store_ != nullptr) keep(store_->checkpoint(id_, report), "checkpoint");
  const std::int64_t epoch = epoch_of(report);
  if (epoch > 0 && store_ != nullptr) keep(store_->epoch(id_, epoch, report), "epoch");
  MutexLock lock(mutex_);
  for (const auto& [follower, reporter] : followers_) reporter(report);
  if (report.kind == ReportKind::epoch || report.kind == ReportKind::event) remember(report, epoch);
  if (report.kind == ReportKind::result) result_ = std::move(report);
}

/// For those who follow it later. An epoch that a job makes again, after its last checkpoint, takes the place of what
/// was told of it and of those behind it.
void Job::remember(const Report& report, std::int64_t epoch) {
  if (epoch > 0) std::erase_if(told_, [&](const Told& old) { return old.epoch >= epoch; });
  told_.push_back({.report = {.kind = report.kind, .json = report.json}, .epoch = epoch});
  if (told_.size() > kMostKept) told_.pop_front();
}

/// A disk that takes no more is no reason to end a run that is well.
void Job::keep(const Status& kept, const char* what) const {
  if (!kept.ok()) log_error("job not kept", {{"job", id_}, {"what", what}, {"message", kept.error().message}});
}

}  // namespace mangrove::cluster
