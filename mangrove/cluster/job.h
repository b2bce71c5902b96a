#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "mangrove/base/mutex.h"
#include "mangrove/cluster/job_attempt.h"
#include "mangrove/cluster/job_store.h"

namespace mangrove::cluster {

/// A job on its way through the coordinator: its run, the clients that follow it, and the store that keeps what must
/// outlive the process. threads: one calls run(); any thread may call the others.
class Job {
 public:
  /// owner: the URI of the subject in the certificate of the client that began the job; "": links are in plain text.
  /// store: nullptr if nothing is kept. from: the job goes on from there.
  Job(std::string id, JobSpec job, std::string owner, const JobEnvironment& surroundings, JobStore* store,
      const std::optional<JobStore::Interrupted>& from = {});

  static constexpr std::size_t kMostKept = JobStore::kMostEpochs;  // epochs and events for those who follow it later

  const std::string& id() const { return id_; }
  const std::string& owner() const { return owner_; }
  /// It goes on without clients, and after a restart of the coordinator.
  bool is_kept() const { return store_ != nullptr; }
  std::shared_ptr<JobAttempt> current_run() const;

  /// Runs it to its end. A job that is kept and has lost all its nodes waits for them, and goes on from its last
  /// checkpoint. What is then to be told to clients is told by end().
  void run();
  /// Asked for by a client: it shall end in good order.
  void request_stop();
  /// The coordinator ends: so does the run, with a last checkpoint; a job that is kept goes on when it is back.
  void suspend();
  /// Clients hear of the end.
  void end();

  /// Reports go to `reporter` from now on, from several threads but one at a time, until unfollow() has returned.
  /// from_beginning: first what was told before, see kMostKept.
  void follow(const void* follower, Reporter reporter, bool from_beginning = false);
  void unfollow(const void* follower);

  struct End {
    Status status;
    bool suspended = false;  // not its end, but that of the coordinator
  };
  /// Waits for the end, at most so long.
  std::optional<End> wait_end(Seconds limit);

 private:
  /// An epoch or event for those who come later.
  struct Told {
    Report report;       // without its attachment
    std::int64_t epoch;  // its number; 0: it is an event
  };
  std::shared_ptr<JobAttempt> make_run(JobSpec job, const std::optional<JobStore::Interrupted>& from);
  bool begins_again(const Status& ended);
  std::optional<std::string> signature_of(const std::string& network) const;
  void complete(Report& result) const;
  void remember(const Report& report, std::int64_t epoch) MG_REQUIRES(mutex_);  // 0: an event
  void on_report(Report report);
  void keep(const Status& kept, const char* what) const;
  void keep_end(const Status& status);

  const std::string id_, owner_;
  JobStore* const store_;
  const JobEnvironment surroundings_;
  mutable Mutex mutex_;
  Condition changed_;
  std::map<const void*, Reporter> followers_ MG_GUARDED_BY(mutex_);
  std::deque<Told> told_ MG_GUARDED_BY(mutex_);
  std::optional<Report> result_ MG_GUARDED_BY(mutex_);
  std::shared_ptr<JobAttempt> run_ MG_GUARDED_BY(mutex_);
  bool stopped_ MG_GUARDED_BY(mutex_) = false;
  bool suspended_ MG_GUARDED_BY(mutex_) = false;
  bool over_ MG_GUARDED_BY(mutex_) = false;
  End end_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::cluster
